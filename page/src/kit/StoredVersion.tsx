import type { ReactNode } from "react";
import { Button } from "./Button";
import css from "./stored.module.css";

/** What is stored now of the object of a form, of which the person has seen another version, field by field. */
export function StoredVersion<F extends string>(props: {
  title: string;
  note?: ReactNode;
  /** The fields in which the form differs. */
  fields?: readonly { name: F; label: string; value: ReactNode }[];
  onTake?(name: F): void;
}) {
  const { title, note, fields = [], onTake } = props;
  return (
    <section className={css.stored} role="alert" aria-label="Changed meanwhile">
      <h3>{title}</h3>
      {note && <p>{note}</p>}
      {fields.length > 0 && (
        <dl>
          {fields.map(({ name, label, value }) => (
            <div key={name}>
              <dt>
                {label}
                <Button
                  size="small"
                  aria-label={`Take it: the stored ${name}`}
                  onClick={() => onTake?.(name)}
                >
                  Take it
                </Button>
              </dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
      )}
    </section>
  );
}
