//! Names of times in six languages, separated by `|`. Data for [`crate::recall::when`]; phrases are lower case.

use Period::{Day, Month, Part, Week, Year};

/// A time relative to now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Period {
    /// This many days ago.
    Day(i64),
    /// This many days ago, between two hours; 30 is six o'clock the next morning.
    Part(i64, i64, i64),
    /// This many calendar weeks ago, starting on Monday.
    Week(i64),
    Month(i64),
    Year(i64),
}

/// Phrases and their meaning. The longest phrase in a question wins.
#[rustfmt::skip]
pub(super) const PHRASES: &[(Period, &str)] = &[
    (Day(0), "today|heute|hoy|aujourd'hui|今日|本日|今天"),
    (Day(1), "yesterday|gestern|ayer|hier|昨日|きのう|昨天"),
    (Day(2), "the day before yesterday|vorgestern|anteayer|antier|avant-hier|一昨日|おととい|前天"),
    (Part(0, 0, 12), "\
        this morning|heute morgen|heute früh|heute vormittag|esta mañana|ce matin|今朝|今日の午前|\
        今天早上|今天上午|今早"),
    (Part(0, 12, 18), "this afternoon|heute nachmittag|esta tarde|cet après-midi|今日の午後|今天下午"),
    (Part(0, 18, 24), "this evening|tonight|heute abend|esta noche|ce soir|今晩|今夜|今晚|今天晚上"),
    (Part(1, 0, 12), "\
        yesterday morning|gestern morgen|gestern früh|gestern vormittag|ayer por la mañana|hier matin|\
        昨日の朝|昨日の午前|昨天早上|昨天上午"),
    (Part(1, 12, 18), "\
        yesterday afternoon|gestern nachmittag|ayer por la tarde|hier après-midi|昨日の午後|昨天下午"),
    (Part(1, 18, 30), "\
        last night|yesterday evening|gestern abend|letzte nacht|anoche|hier soir|昨夜|昨晩|昨日の夜|\
        昨晚|昨天晚上"),
    (Week(0), "this week|diese woche|dieser woche|esta semana|cette semaine|今週|这周|本周|这个星期"),
    (Week(1), "\
        last week|letzte woche|letzter woche|vergangene woche|vorige woche|semana pasada|\
        semaine dernière|先週|上周|上星期|上个星期"),
    (Month(0), "this month|diesen monat|diesem monat|este mes|ce mois-ci|今月|这个月|本月"),
    (Month(1), "\
        last month|letzten monat|letztem monat|vergangenen monat|mes pasado|mois dernier|先月|上个月|\
        上月"),
    (Year(0), "this year|dieses jahr|diesem jahr|este año|cette année|今年"),
    (Year(1), "last year|letztes jahr|letztem jahr|año pasado|année dernière|昨年|去年"),
];

/// Days of the week from Monday on.
pub(super) const WEEKDAYS: [&str; 7] = [
    "monday|montag|lunes|lundi|月曜日|月曜|周一|星期一",
    "tuesday|dienstag|martes|mardi|火曜日|火曜|周二|星期二",
    "wednesday|mittwoch|miércoles|mercredi|水曜日|水曜|周三|星期三",
    "thursday|donnerstag|jueves|jeudi|木曜日|木曜|周四|星期四",
    "friday|freitag|viernes|vendredi|金曜日|金曜|周五|星期五",
    "saturday|samstag|sonnabend|sábado|samedi|土曜日|土曜|周六|星期六",
    "sunday|sonntag|domingo|dimanche|日曜日|日曜|周日|星期日|星期天",
];

/// Patterns for one day or week some units ago; `N` stands for the count and `U` for the unit.
pub(super) const AGO: &[&str] =
    &[r"\bN U ago\b", r"\bvor N U\b", r"\bhace N U\b", r"\bil y a N U\b", r"N ?U前", r"N ?U之?前"];

/// Patterns for the time from then until now, with a count or for a single unit.
pub(super) const WITHIN: &[&str] = &[
    r"\b(?:last|past) N U\b",
    r"\bletzten N U\b",
    r"\búltim[oa]s N U\b",
    r"\bN derni(?:ers|ères) U\b",
    r"(?:過去|ここ|直近) ?N ?U間?",
    r"(?:过去|最近|近) ?N ?U",
    r"\b(?:last|past) U\b",
    r"\bletzten U\b",
    r"\búltim[oa] U\b",
    r"\bdernière U\b",
];

pub(super) const NUMBERS: &[(i64, &str)] = &[
    (1, "a|an|one|einem|einer|ein|eine|un|una|uno|une|一"),
    (2, "two|zwei|dos|deux|二|两"),
    (3, "three|drei|tres|trois|三"),
    (4, "four|vier|cuatro|quatre|四"),
    (5, "five|fünf|cinco|cinq|五"),
    (6, "six|sechs|seis|六"),
    (7, "seven|sieben|siete|sept|七"),
    (10, "ten|zehn|diez|dix|十"),
    (14, "fourteen|vierzehn|catorce|quatorze|十四"),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Hour,
    Day,
    Week,
    Month,
}

pub(super) const UNITS: &[(Unit, &str)] = &[
    (Unit::Hour, "hours|hour|stunden|stunde|horas|hora|heures|heure|時間|小时"),
    (Unit::Day, "days|day|tagen|tage|tag|días|dias|día|dia|jours|jour|日|天"),
    (Unit::Week, "weeks|week|wochen|woche|semanas|semana|semaines|semaine|週間|周|个星期"),
    (Unit::Month, "months|month|monaten|monat|meses|mes|mois|か月|ヶ月|个月"),
];

/// Words before a time that extend it to now.
pub(super) const SINCE_BEFORE: &str = "since|seit|desde|depuis|自|从|自从";
/// Words allowed in between.
pub(super) const ARTICLES: &str = "the|last|dem|der|letztem|letzter|el|la|le|l'|pasado";
/// The same after a time.
pub(super) const SINCE_BEHIND: &str = "から|以降|以来|以后|之后|起";

/// Words that identify a French question, where `hier` is a time; in German it is a place.
pub(super) const FRENCH: &str = "\
    que|qu'est-ce|quoi|quel|quelle|quels|quelles|avons|avons-nous|ont|nous|fait|dans|les|pourquoi|\
    quand|a-t-il|est-ce|modifié|changé|du|des";
