/**
 * Returns the name of the first field of a form with a text that the browser cannot read, such as half of a date; null if
 * there is none. The value of such a field is empty, as if the person had written nothing.
 */
export function unreadField(form: Pick<HTMLFormElement, "elements"> | null): string | null {
  const fields = [...(form?.elements ?? [])] as Partial<HTMLInputElement>[];
  return fields.find((each) => each.validity?.badInput)?.name ?? null;
}
