/** The forms of questions: the fields of a JSON Schema as the protocol's elicitation allows it. All functions are pure. */

export interface Choice {
  value: string;
  title: string;
}

export interface FormField {
  name: string;
  title: string;
  description: string | null;
  required: boolean;
  kind: "text" | "number" | "boolean" | "choice" | "choices";
  choices: Choice[];
  /** What the input holds at first: a text, a switch, or the chosen values. */
  initial: string | boolean | string[];
}

interface Property {
  type?: unknown;
  title?: unknown;
  description?: unknown;
  default?: unknown;
  enum?: unknown;
  oneOf?: unknown;
  anyOf?: unknown;
  items?: Property;
}

const text = (value: unknown): string | null => (typeof value === "string" ? value : null);

function choicesOf(property: Property | undefined): Choice[] {
  const titled = property?.oneOf ?? property?.anyOf;
  if (Array.isArray(titled)) {
    return titled.flatMap((option: { const?: unknown; title?: unknown }) => {
      const value = text(option?.const);
      return value === null ? [] : [{ value, title: text(option.title) ?? value }];
    });
  }
  const plain = Array.isArray(property?.enum) ? property.enum : [];
  return plain.flatMap((value: unknown) => (typeof value === "string" ? [{ value, title: value }] : []));
}

function fieldOf(name: string, property: Property, required: boolean): FormField {
  const common = {
    name,
    title: text(property.title) ?? name,
    description: text(property.description),
    required,
  };
  const choices = choicesOf(property.type === "array" ? property.items : property);
  const preset = property.default;
  switch (property.type) {
    case "boolean":
      return { ...common, kind: "boolean", choices: [], initial: preset === true };
    case "array": {
      const chosen = Array.isArray(preset)
        ? preset.filter((each): each is string => typeof each === "string")
        : [];
      return { ...common, kind: "choices", choices, initial: chosen };
    }
    case "number":
    case "integer":
      return {
        ...common,
        kind: "number",
        choices: [],
        initial: typeof preset === "number" ? `${preset}` : "",
      };
    default:
      return {
        ...common,
        kind: choices.length > 0 ? "choice" : "text",
        choices,
        initial: text(preset) ?? "",
      };
  }
}

/** Returns the fields of a form, in the order of its schema. */
export function fieldsOf(schema: unknown): FormField[] {
  const { properties, required } = (schema ?? {}) as { properties?: unknown; required?: unknown };
  if (typeof properties !== "object" || properties === null) return [];
  const needed = new Set(Array.isArray(required) ? required : []);
  return Object.entries(properties).map(([name, property]) =>
    fieldOf(name, property ?? {}, needed.has(name)),
  );
}

export type Values = Record<string, string | boolean | string[]>;

/** Returns the answer: what the inputs hold, in the types of the fields. Empty inputs are left out. */
export function answerOf(fields: readonly FormField[], values: Values): Record<string, unknown> {
  const answer: Record<string, unknown> = {};
  for (const field of fields) {
    const value = values[field.name] ?? field.initial;
    if (field.kind === "number" && typeof value === "string") {
      if (value.trim() !== "") answer[field.name] = Number(value);
    } else if (value !== "" || (field.required && field.kind === "text")) {
      if (!(field.kind === "choices" && !field.required && (value as string[]).length === 0)) {
        answer[field.name] = value;
      }
    }
  }
  return answer;
}
