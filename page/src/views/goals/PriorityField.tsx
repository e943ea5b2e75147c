import { SelectField, type SelectFieldProps } from "../../kit/layout";

const PRIORITIES = ["0, starts first", "1", "2", "3", "4", "5", "6", "7", "8", "9, starts last"];

/** The choice of the rank of a task among those that are ready. */
export function PriorityField(props: Omit<SelectFieldProps, "children">) {
  return (
    <SelectField {...props}>
      {PRIORITIES.map((text, priority) => (
        <option key={text} value={priority}>
          {text}
        </option>
      ))}
    </SelectField>
  );
}
