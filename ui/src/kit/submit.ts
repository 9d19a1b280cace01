/** A form's `onsubmit` that runs `action` and stays on the page. */
export const submits =
  (action: () => unknown) =>
  (event: SubmitEvent): void => {
    event.preventDefault();
    void action();
  };
