//! The map of the code as an SVG file, in the colours of the theme that it is shown in.

use openagents_core::{
    update::{CodeMap, MapEdge, MapNode},
    visible::on_one_line,
};
use std::fmt::Write;

/// Sizes in pixels: of the drawing, of boxes, of the space between boxes and between layers.
const WIDTH: f64 = 1200.0;
const MARGIN: f64 = 24.0;
const NARROWEST: f64 = 170.0;
const WIDEST: f64 = 300.0;
const HEIGHT: f64 = 76.0;
const GAP: f64 = 16.0;
const BETWEEN: f64 = 44.0;
/// Width of a letter of the name, and of the other text.
const NAME_LETTER: f64 = 7.9;
const LETTER: f64 = 6.4;

/// A box of the drawing: index of its node, position and width.
struct Area {
    node: usize,
    x: f64,
    y: f64,
    width: f64,
}

/// Draws the top level of a map: a layer per row, with arrows to what is imported.
pub(super) fn svg(map: &CodeMap) -> String {
    let (areas, height) = lay_out(map);
    let mut svg = format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" font-family="system-ui, sans-serif">
<style>
  svg {{ color-scheme: light dark; background: #fff; }}
  rect {{ fill: #fafafb; stroke: #cdcdd5; }}
  text {{ fill: #16171a; font-size: 12px; }}
  .name {{ font: 600 13px ui-monospace, monospace; }}
  .about {{ fill: #5c6068; }}
  .arrow {{ fill: none; stroke: #9a9ca6; }}
  .circle {{ stroke: #855800; stroke-dasharray: 4 3; }}
  marker path {{ fill: #9a9ca6; }}
  @media (prefers-color-scheme: dark) {{
    svg {{ background: #08090a; }}
    rect {{ fill: #131417; stroke: #363840; }}
    text {{ fill: #f7f8f8; }}
    .about {{ fill: #989ea8; }}
    .circle {{ stroke: #f2b632; }}
  }}
</style>
<defs><marker id="end" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0L8 4L0 8z"/></marker></defs>
"#
    );
    for edge in map.edges.iter().filter(|edge| !edge.is_implied || edge.is_circular) {
        draw_edge(&mut svg, edge, &areas);
    }
    for area in &areas {
        draw_area(&mut svg, area, &map.nodes[area.node]);
    }
    svg.push_str("</svg>\n");
    svg
}

/// Returns the boxes of the nodes without a parent, and the height of the drawing.
fn lay_out(map: &CodeMap) -> (Vec<Area>, f64) {
    let mut top: Vec<usize> = (0..map.nodes.len()).filter(|at| map.nodes[*at].parent.is_none()).collect();
    top.sort_by_key(|at| map.nodes[*at].layer);
    let most = top.iter().map(|at| map.nodes[*at].lines).max().unwrap_or(1).max(1);
    let width = |at: usize| {
        let share = (f64::from(map.nodes[at].lines) / f64::from(most)).sqrt();
        NARROWEST + (WIDEST - NARROWEST) * share
    };
    let mut areas = Vec::new();
    let mut y = MARGIN;
    for layer in top.chunk_by(|one, other| map.nodes[*one].layer == map.nodes[*other].layer) {
        let mut rest = layer;
        while !rest.is_empty() {
            let mut filled = 0.0;
            let fits = |at: &&usize| {
                filled += width(**at) + GAP;
                filled - GAP <= WIDTH - 2.0 * MARGIN
            };
            // A box always fits into an empty row.
            let (row, others) = rest.split_at(rest.iter().take_while(fits).count().max(1));
            let filled: f64 = row.iter().map(|at| width(*at) + GAP).sum::<f64>() - GAP;
            let mut x = (WIDTH - filled) / 2.0;
            for at in row {
                areas.push(Area { node: *at, x, y, width: width(*at) });
                x += width(*at) + GAP;
            }
            y += HEIGHT + if others.is_empty() { BETWEEN } else { GAP };
            rest = others;
        }
    }
    (areas, y - BETWEEN + MARGIN)
}

fn draw_edge(svg: &mut String, edge: &MapEdge, areas: &[Area]) {
    let area = |node: u32| areas.iter().find(|area| area.node == node as usize);
    let (Some(from), Some(to)) = (area(edge.from), area(edge.to)) else { return };
    let (x1, x2) = (from.x + from.width / 2.0, to.x + to.width / 2.0);
    let (y1, y2) = match to.y > from.y {
        true => (from.y + HEIGHT, to.y),
        false => (from.y, to.y + HEIGHT),
    };
    let middle = f64::midpoint(y1, y2);
    let class = if edge.is_circular { "arrow circle" } else { "arrow" };
    let stroke = (1.0 + f64::from(edge.imports).log10()).min(3.0);
    // Writing to a string does not fail.
    let _ = writeln!(
        svg,
        r#"<path class="{class}" stroke-width="{stroke:.1}" marker-end="url(#end)" d="M{x1:.1} {y1:.1}C{x1:.1} {middle:.1} {x2:.1} {middle:.1} {x2:.1} {y2:.1}"/>"#
    );
}

fn draw_area(svg: &mut String, area: &Area, node: &MapNode) {
    let Area { x, y, width, .. } = area;
    let room = width - 24.0;
    let name = cut(&on_one_line(&node.path), (room / NAME_LETTER) as usize);
    let files = if node.files == 1 { "1 file".to_owned() } else { format!("{} files", node.files) };
    let about = cut(&on_one_line(&node.description.replace('`', "")), (room / LETTER) as usize);
    let _ = writeln!(
        svg,
        r#"<g><title>{}</title><rect x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{HEIGHT}" rx="7"/>"#,
        escaped(&format!("{}\n{}", on_one_line(&node.path), on_one_line(&node.description)))
    );
    let lines = if node.lines == 1 { "1 line".to_owned() } else { format!("{} lines", node.lines) };
    let size = format!("{files}, {lines}");
    for (class, line, text) in [("name", 24.0, name), ("about", 44.0, about), ("about", 62.0, size)] {
        let _ = writeln!(
            svg,
            r#"<text class="{class}" x="{:.1}" y="{:.1}">{}</text>"#,
            x + 12.0,
            y + line,
            escaped(&text)
        );
    }
    svg.push_str("</g>\n");
}

/// Cuts a text to a number of characters.
fn cut(text: &str, most: usize) -> String {
    match text.chars().count() > most {
        true => text.chars().take(most.saturating_sub(1)).chain(['…']).collect(),
        false => text.to_owned(),
    }
}

/// Escapes a text for XML, which has no control characters but tab and line breaks.
fn escaped(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => written.push_str("&amp;"),
            '<' => written.push_str("&lt;"),
            '>' => written.push_str("&gt;"),
            '\n' => written.push('\n'),
            _ if character.is_control() || matches!(character, '\u{fffe}' | '\u{ffff}') => {
                written.push('\u{fffd}')
            }
            _ => written.push(character),
        }
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(path: &str, layer: u32, lines: u32) -> MapNode {
        MapNode {
            path: path.to_owned(),
            description: "What <it> does & why".to_owned(),
            files: 2,
            lines,
            layer,
            parent: None,
        }
    }

    #[test]
    fn layers_are_rows_and_text_is_escaped() {
        let edge = MapEdge { from: 0, to: 1, imports: 3, is_circular: false, is_implied: false };
        let inner = MapNode { parent: Some(1), ..node("core/a/", 0, 5) };
        let map = CodeMap {
            nodes: vec![node("cli/", 0, 10), node("core/\u{1}", 1, 1000), inner],
            edges: vec![edge],
            omitted: 0,
        };
        let (areas, height) = lay_out(&map);
        assert_eq!(areas.len(), 2);
        assert!(areas[0].y + HEIGHT < areas[1].y && areas[1].y + HEIGHT < height);
        assert!(areas[0].width < areas[1].width);
        let svg = svg(&map);
        assert!(svg.contains("&lt;it&gt;") && !svg.contains("<it>") && !svg.contains('\u{1}'), "{svg}");
        assert_eq!(svg.matches("class=\"arrow\"").count(), 1);
    }

    #[test]
    fn many_boxes_of_a_layer_wrap() {
        let map = CodeMap { nodes: (0..30).map(|_| node("folder/", 0, 10)).collect(), ..CodeMap::default() };
        let (areas, _) = lay_out(&map);
        assert!(areas.iter().all(|area| area.x >= MARGIN && area.x + area.width <= WIDTH - MARGIN));
    }
}
