/** The draft of an automation's form, kept in the browser. `name` is that of a stored automation, null for a new one. */
import { forgetKeys } from "../../api/keyed";
import { EMPTY, type Form } from "./form";

/** The target of the key with which a new automation is sent. */
export const KEY_TARGET = "new automation";

const draftKey = (name: string | null) => `matins.automation.${name ?? "new"}`;

export function readDraft(name: string | null): Form | null {
  try {
    const text = localStorage.getItem(draftKey(name));
    return text === null ? null : { ...EMPTY, ...(JSON.parse(text) as Partial<Form>) };
  } catch {
    return null;
  }
}

export function writeDraft(name: string | null, form: Form): void {
  localStorage.setItem(draftKey(name), JSON.stringify(form));
}

/** Removes the draft after its form was saved. */
export function removeDraft(name: string | null): void {
  localStorage.removeItem(draftKey(name));
}

/** Removes the draft that a person gives up. The same automation, written later, is a new one. */
export function discardDraft(name: string | null): void {
  if (name === null) forgetKeys(KEY_TARGET);
  removeDraft(name);
}
