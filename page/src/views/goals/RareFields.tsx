import { useInstances, usePermission } from "../../api/queries";
import { Field, SelectField } from "../../kit/layout";
import { visible } from "../../kit/visible";
import { LIMIT_NAMES, limitLabel, type NewGoalField, type NewGoalForm } from "./form";
import css from "./goals.module.css";

/** The fields of a new goal that few people need. */
export function RareFields(props: {
  form: NewGoalForm;
  errorOf(field: NewGoalField): string | null;
  onChange(field: "key" | "on", value: string): void;
  onLimit(name: string, value: string): void;
}) {
  const { form, errorOf, onChange, onLimit } = props;
  return (
    <div className={css.rare}>
      <Field
        label="Key"
        name="key"
        value={form.key}
        placeholder="spring-campaign"
        note={
          <>
            A stable name for commands and for the API, such as <code>matins goal show spring-campaign</code>
          </>
        }
        error={errorOf("key")}
        spellCheck={false}
        autoComplete="off"
        onChange={(event) => onChange("key", event.target.value)}
      />
      <Host form={form} error={errorOf("on")} onChange={(value) => onChange("on", value)} />
      <fieldset className={css.limitFields}>
        <legend>Limits</legend>
        <p className={css.note}>An empty one is that of the team.</p>
        <div className={css.limitGrid}>
          {LIMIT_NAMES.map((name) => (
            <Field
              key={name}
              label={limitLabel(name)}
              name={`limits.${name}`}
              inputMode="numeric"
              value={form.limits[name] ?? ""}
              error={errorOf(`limits.${name}`)}
              onChange={(event) => onLimit(name, event.target.value)}
            />
          ))}
        </div>
      </fieldset>
    </div>
  );
}

/** The choice of the host on which the turns run. Shows nothing if there is only one. */
function Host(props: { form: NewGoalForm; error: string | null; onChange(name: string): void }) {
  const { on } = props.form;
  const may = usePermission();
  const instances = useInstances(may("instances:read")).data?.items ?? [];
  // The seats of a goal are those of one session, which a server moves.
  const hosts = instances.filter(({ kind }) => kind === "host").map(({ name }) => name);
  if (on === "" && hosts.length < 2) return null;
  return (
    <SelectField
      label="Runs on"
      name="on"
      value={on}
      note="The turns wait for it while it is offline."
      error={props.error}
      onChange={(event) => props.onChange(event.target.value)}
    >
      <option value="">any</option>
      {on !== "" && !hosts.includes(on) && <option value={on}>{visible(on)}</option>}
      {hosts.map((name) => (
        <option key={name} value={name}>
          {visible(name)}
        </option>
      ))}
    </SelectField>
  );
}
