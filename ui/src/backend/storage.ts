/** Browser storage. Keeps nothing where it is disabled and even accessing it throws. */
class BrowserStorage {
  constructor(private readonly area: () => Storage) {}

  read(key: string): string | null {
    try {
      return this.area().getItem(key);
    } catch {
      return null;
    }
  }

  /** Stores a value; null removes it. */
  write(key: string, value: string | null): void {
    try {
      if (value === null) this.area().removeItem(key);
      else this.area().setItem(key, value);
    } catch {
      // Disabled or full: the value lasts until the page is reloaded.
    }
  }
}

export const browserStorage = new BrowserStorage(() => localStorage);
/** Lasts until the tab is closed. */
export const tabStorage = new BrowserStorage(() => sessionStorage);
