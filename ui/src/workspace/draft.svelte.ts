/** What a person has filled in for the next exploration; outlives the form, which gives way while one starts. */
export class Draft {
  /** Null until a person chooses: the form then shows the bridge's own folder. */
  path = $state<string | null>(null);
  goals = $state('');
}
