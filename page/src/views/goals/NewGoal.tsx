import { ChevronRight } from "lucide-react";
import { type FormEvent, useEffect, useRef, useState } from "react";
import { Link, useLocation } from "wouter";
import { post } from "../../api/client";
import { forgetKeys, sendKeyed } from "../../api/keyed";
import { ApiProblem } from "../../api/problem";
import { keys, queryClient, useAgents, usePermission, useWhoami } from "../../api/queries";
import type { Goal } from "../../api/types";
import { ActionDialog } from "../../kit/ActionDialog";
import { Button } from "../../kit/Button";
import { Callout, ErrorState, errorText } from "../../kit/ErrorState";
import { Field, Panel, SelectField, TextField } from "../../kit/layout";
import { toast } from "../../kit/Toast";
import { unreadField } from "../../kit/unread-field";
import { visible } from "../../kit/visible";
import { addressOfGoal } from "../addresses";
import { useRefusal } from "../refusal";
import {
  AGENTS_OF_FILE,
  agentOf,
  commandOf,
  EMPTY,
  FROM_FILE,
  faultOfNew,
  fieldOfProblem,
  isRare,
  type NewGoalField,
  type NewGoalForm,
  requestOfForm,
  withLimit,
} from "./form";
import css from "./goals.module.css";
import { type Failure, LimitFields, unreadFault, useFailureFocus } from "./LimitFields";
import { RareFields } from "./RareFields";
import { bringsAgents, seatsText, TEAMS } from "./teams";
import { titleOfGoal } from "./words";

const DRAFT = "matins.goal.new";
const KEY_TARGET = "new goal";

function readDraft(): NewGoalForm {
  try {
    return { ...EMPTY, ...(JSON.parse(localStorage.getItem(DRAFT) ?? "{}") as Partial<NewGoalForm>) };
  } catch {
    return EMPTY;
  }
}

const isEmpty = (form: NewGoalForm) => JSON.stringify(form) === JSON.stringify(EMPTY);

function writeDraft(form: NewGoalForm): void {
  try {
    if (isEmpty(form)) localStorage.removeItem(DRAFT);
    else localStorage.setItem(DRAFT, JSON.stringify(form));
  } catch {
    // Without storage the draft lasts as long as the tab.
  }
}

/** `true` if a form has a field that is folded at first. */
const hasRare = ({ key, on, limits }: NewGoalForm) =>
  key !== "" || on !== "" || Object.keys(limits).length > 0;

/** The route `/goals/new`. */
export default function NewGoal() {
  const [form, setForm] = useState(readDraft);
  // Another key makes the fields anew, because half of a date has no value that React could clear.
  const [discards, setDiscards] = useState(0);
  const [unread, setUnread] = useState<string | null>(null);
  const [failure, setFailure] = useState<Failure<NewGoalField> | null>(null);
  const [showsRare, setShowsRare] = useState(hasRare(form));
  const [busy, setBusy] = useState(false);
  const [discarding, setDiscarding] = useState(false);
  const [, navigate] = useLocation();
  const refusal = useRefusal()("sessions:write");
  const isKnown = useWhoami().data !== undefined;
  const isRefused = !usePermission()("sessions:write") && isKnown;
  const agents = useAgents();
  const fields = useRef<HTMLFormElement>(null);
  useEffect(() => {
    // The same goal, written after the form was discarded, is a new one.
    if (isEmpty(form)) forgetKeys(KEY_TARGET);
    writeDraft(form);
  }, [form]);
  useFailureFocus(fields, failure);
  const set = <F extends keyof NewGoalForm>(field: F, value: NewGoalForm[F]) => {
    setForm((now) => ({ ...now, [field]: value }));
    if (failure?.field === field) setFailure(null);
  };
  const setLimit = (name: string, value: string) => {
    setForm((now) => withLimit(now, name, value));
    if (failure?.field === `limits.${name}`) setFailure(null);
  };
  const refuse = (refused: Failure<NewGoalField>) => {
    // The focus goes to the field, which must not fold under the cursor.
    if (isRare(refused.field)) setShowsRare(true);
    setFailure(refused);
  };
  const noteUnread = () => setUnread(unreadField(fields.current));
  const errorOf = (field: NewGoalField) => (failure?.field === field ? failure.text : null);
  const team = TEAMS.find((each) => each.name === form.team);
  // An agent that is not installed here is the last choice.
  const installed = [...(agents.data?.items ?? [])].sort(
    (a, b) => Number(b.program !== null) - Number(a.program !== null),
  );
  const agent = agentOf(form, installed);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (busy || refusal !== null) return;
    if (form.goal.trim() === "") return refuse({ field: "goal", text: "A goal needs a text." });
    const fault = faultOfNew(form) ?? unreadFault(fields.current);
    if (fault !== null) return refuse(fault);
    setBusy(true);
    setFailure(null);
    try {
      const body = requestOfForm(form, agent);
      const goal = await sendKeyed(KEY_TARGET, body, (idempotencyKey) =>
        post<Goal>("/goals", { body, idempotencyKey }),
      );
      writeDraft(EMPTY);
      queryClient.invalidateQueries({ queryKey: keys.goals });
      toast(`${titleOfGoal(goal)} is ${form.draft ? "a draft" : "started"}`);
      // The person has left the form meanwhile.
      if (fields.current === null) return;
      navigate(addressOfGoal(goal.id));
    } catch (error) {
      if (fields.current === null) return toast(`The goal is not created. ${errorText(error)}`);
      const field = error instanceof ApiProblem ? fieldOfProblem(error.problem.field) : null;
      refuse({ field, text: errorText(error) });
      setBusy(false);
    }
  };
  return (
    <div className={css.form}>
      <nav aria-label="Path" className={css.path}>
        <Link href="/goals">Goals</Link>
        <ChevronRight size={16} aria-hidden />
        <h1>New goal</h1>
      </nav>
      {isRefused && (
        <Callout title="You cannot start a goal.">
          Your role does not permit this: it needs sessions:write.
        </Callout>
      )}
      {agents.error && <ErrorState error={agents.error} onRetry={() => agents.refetch()} />}
      <Panel>
        <form
          ref={fields}
          className={css.fields}
          onInput={noteUnread}
          onKeyUp={noteUnread}
          onSubmit={submit}
          noValidate
        >
          <TextField
            label="Goal"
            name="goal"
            rows={5}
            value={form.goal}
            placeholder="Compare the three offers. Write one page that names the best one, and why."
            note="The result, and what must not happen. The planner divides it into tasks."
            error={errorOf("goal")}
            onChange={(event) => set("goal", event.target.value)}
          />
          <Field
            label="Title"
            name="title"
            value={form.title}
            placeholder="The beginning of the goal"
            error={errorOf("title")}
            autoComplete="off"
            onChange={(event) => set("title", event.target.value)}
          />
          <SelectField
            label="Team"
            name="team"
            value={form.team}
            error={errorOf("team")}
            note={team?.about ?? "The text of a team's file."}
            onChange={(event) => set("team", event.target.value)}
          >
            {TEAMS.map((each) => (
              <option key={each.name} value={each.name}>
                {each.name}
              </option>
            ))}
            <option value={FROM_FILE}>from a file…</option>
          </SelectField>
          {team && (
            <ul className={css.team} aria-label={`Seats of ${team.name}`}>
              {team.seats.map((seats) => (
                <li key={seats.role}>{seatsText(seats)}</li>
              ))}
            </ul>
          )}
          {form.team === FROM_FILE && (
            <TextField
              label="Team file"
              name="teamText"
              rows={10}
              className={css.code}
              spellCheck={false}
              value={form.teamText}
              placeholder={
                'name = "own"\n\n[[seats]]\nrole = "planner"\nentry = true\n\n[[seats]]\nrole = "worker"'
              }
              note={
                <>
                  TOML. <code>matins team show research</code> prints one to begin with.
                </>
              }
              error={errorOf("teamText")}
              onChange={(event) => set("teamText", event.target.value)}
            />
          )}
          {bringsAgents(team) ? (
            <p className={css.note}>The seats of this team have their agents.</p>
          ) : (
            <SelectField
              label="Agent"
              name="agent"
              value={agent ?? AGENTS_OF_FILE}
              error={errorOf("agent")}
              note="Of all seats for which the team names none"
              onChange={(event) => set("agent", event.target.value)}
            >
              {installed.map((each) => (
                <option key={each.id} value={each.name}>
                  {visible(each.name)}
                  {each.program === null && ", not installed"}
                </option>
              ))}
              {form.team === FROM_FILE && (
                <option value={AGENTS_OF_FILE}>none, because each seat names its own</option>
              )}
            </SelectField>
          )}
          <Field
            label="Directory"
            name="cwd"
            value={form.cwd}
            placeholder="A folder of its own"
            note="An absolute path on the machine of the server. It never changes."
            error={errorOf("cwd")}
            spellCheck={false}
            autoComplete="off"
            onChange={(event) => set("cwd", event.target.value)}
          />
          <LimitFields
            key={discards}
            form={form}
            emptyUntil="Empty: the hours of the team."
            errorOf={errorOf}
            onChange={set}
          />
          <TextField
            label="Check by command"
            name="verify"
            rows={2}
            className={css.code}
            spellCheck={false}
            value={form.verify}
            placeholder="cargo test -q"
            note="One command a line. Matins runs them after the work on each task that writes files, and sends the task back if one fails."
            error={errorOf("verify")}
            onChange={(event) => set("verify", event.target.value)}
          />
          <label className={css.tick}>
            <input
              type="checkbox"
              name="approvePlan"
              checked={form.approvePlan}
              onChange={(event) => set("approvePlan", event.target.checked)}
            />
            Pause after the first plan, until you approve it
          </label>
          <label className={css.tick}>
            <input
              type="checkbox"
              name="draft"
              checked={form.draft}
              onChange={(event) => set("draft", event.target.checked)}
            />
            Create a draft and start it later
          </label>
          <details
            className={css.limits}
            open={showsRare}
            onToggle={(event) => setShowsRare(event.currentTarget.open)}
          >
            <summary>More</summary>
            <RareFields form={form} errorOf={errorOf} onChange={set} onLimit={setLimit} />
          </details>
          {failure?.field === null && (
            <Callout kind="failed" title="It is not created.">
              {failure.text}
            </Callout>
          )}
          <div className={css.formFoot}>
            <code tabIndex={0}>{commandOf(form, agent)}</code>
            <Button
              size="large"
              disabled={isEmpty(form) && unread === null}
              onClick={() => setDiscarding(true)}
            >
              Discard
            </Button>
            <Button kind="primary" size="large" type="submit" busy={busy} refusal={refusal}>
              {form.draft ? "Create the draft" : "Start"}
            </Button>
          </div>
        </form>
      </Panel>
      {discarding && (
        <ActionDialog
          title="Discard the goal?"
          note="The form is empty then."
          action="Discard"
          dismiss="Keep editing"
          act={async () => {
            setForm(EMPTY);
            setDiscards((count) => count + 1);
            setUnread(null);
            setFailure(null);
          }}
          onClose={() => setDiscarding(false)}
        />
      )}
    </div>
  );
}
