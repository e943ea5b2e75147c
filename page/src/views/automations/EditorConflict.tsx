import { Button } from "../../kit/Button";
import css from "./automations.module.css";
import { LABELS, textOf } from "./EditorRow";
import { changed, type Form } from "./form";

/** What another person has stored meanwhile, beside this form, field by field. */
export function EditorConflict(props: {
  mine: Form;
  theirs: Form;
  onKeep(): void;
  onTake(field: keyof Form): void;
}) {
  const { mine, theirs, onKeep, onTake } = props;
  const fields = changed(mine, theirs);
  return (
    <section className={css.conflict} role="alert" aria-label="Changed by another person">
      <h2>Another person has changed it since you opened it.</h2>
      {fields.length === 0 && <p>Both versions are the same now.</p>}
      <table>
        <tbody>
          {fields.map((field) => (
            <tr key={field}>
              <th scope="row">{LABELS[field]}</th>
              <td>
                <small>stored</small> {textOf(theirs[field])}
              </td>
              <td>
                <small>yours</small> {textOf(mine[field])}
              </td>
              <td>
                <Button size="small" onClick={() => onTake(field)}>
                  Take the stored one
                </Button>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <Button onClick={onKeep}>Go on with this form</Button>
    </section>
  );
}
