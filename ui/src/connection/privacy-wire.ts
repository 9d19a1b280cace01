/** Wire types for what models and agents may read. */

export type Reader = 'local' | 'elsewhere' | 'hosted';
export type Readable = 'files' | 'history' | 'other_history';

export interface PrivacySnapshot {
  rows: PrivacyRow[];
}

export interface PrivacyRow {
  what: Readable;
  cells: PrivacyCell[];
}

export interface PrivacyCell {
  reader: Reader;
  allowed: boolean;
  /** The name of its switch; absent if it cannot be changed. */
  switch?: string;
}
