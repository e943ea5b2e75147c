import { useAgents, useInstances, useSessions } from "../../api/queries";
import { plural } from "../../kit/format";
import { titleOf } from "../conversations/names";
import { useFilter } from "../filter";
import { REMOVED } from "../instances";
import css from "./automations.module.css";
import { Fold, NumberRow, Row, type RowContext } from "./EditorRow";
import type { Form } from "./form";
import { Schedule } from "./Schedule";

/** The rows of the editor. */
export function EditorFields({ context }: { context: RowContext }) {
  const { form, isNew, set } = context;
  const agents = useAgents();
  const sessions = useSessions();
  const instances = useInstances().data?.items.map((each) => each.name) ?? [];
  const [opened] = useFilter("open");
  const agent = agents.data?.items.find((each) => each.name === form.agent);
  return (
    <>
      <Row field="name" context={context}>
        <input
          value={form.name}
          placeholder={isNew ? "made from the request" : ""}
          onChange={(event) => set("name", event.target.value)}
        />
      </Row>
      <Row
        field="agent"
        context={context}
        note={agent?.signed_in_by ? `signed in by ${agent.signed_in_by}` : agent?.sign_in}
      >
        <select value={form.agent} onChange={(event) => set("agent", event.target.value)}>
          <option value="">
            {form.where === "bound" ? "the one of the conversation" : "Choose an agent"}
          </option>
          {form.agent !== "" && !agent && <option value={form.agent}>{form.agent}</option>}
          {agents.data?.items.map((each) => (
            <option key={each.name} value={each.name}>
              {each.name}
            </option>
          ))}
        </select>
      </Row>
      <Row field="prompt" context={context}>
        <textarea
          rows={4}
          required
          value={form.prompt}
          onChange={(event) => set("prompt", event.target.value)}
        />
      </Row>
      <Row field="where" context={context}>
        <fieldset className={css.where}>
          <legend className="visually-hidden">Where</legend>
          {(
            [
              ["fresh", "A new session for each run", "Remembers nothing from run to run"],
              ["continuous", "One session that remembers", "Each run continues the last"],
              ["bound", "An existing conversation", "Speaks there like a person"],
            ] as const
          ).map(([value, title, note]) => (
            <label key={value}>
              <input
                type="radio"
                name="where"
                checked={form.where === value}
                onChange={() => set("where", value)}
              />
              <span>{title}</span>
              <small>{note}</small>
            </label>
          ))}
        </fieldset>
      </Row>
      {form.where === "bound" ? (
        <Row field="session" context={context}>
          <select value={form.session} onChange={(event) => set("session", event.target.value)}>
            <option value="">Choose a conversation</option>
            {form.session !== "" &&
              !sessions.data?.items.some((each) => [each.id, each.session_key].includes(form.session)) && (
                <option value={form.session}>{form.session}</option>
              )}
            {sessions.data?.items.map((each) => (
              <option key={each.id} value={each.session_key === form.session ? form.session : each.id}>
                {titleOf(each)}
              </option>
            ))}
          </select>
        </Row>
      ) : (
        <Row
          field="cwd"
          context={context}
          note={`An absolute path on ${form.placedOn === "" ? "the server" : "the instance"}. Empty: a folder of each session.`}
        >
          <input
            value={form.cwd}
            placeholder="/srv/project"
            onChange={(event) => set("cwd", event.target.value)}
          />
        </Row>
      )}
      {form.where !== "bound" && (form.placedOn !== "" || instances.length > 1) && (
        <Row field="placedOn" context={context} note="The turns wait for it while it is offline.">
          <select value={form.placedOn} onChange={(event) => set("placedOn", event.target.value)}>
            <option value="">any</option>
            {form.placedOn !== "" && !instances.includes(form.placedOn) && (
              <option value={form.placedOn}>
                {form.placedOn.startsWith("ins_") ? REMOVED : form.placedOn}
              </option>
            )}
            {instances.map((each) => (
              <option key={each} value={each}>
                {each}
              </option>
            ))}
          </select>
        </Row>
      )}
      <Row field="triggers" context={context}>
        <Schedule
          triggers={form.triggers}
          zone={form.zone}
          onTriggers={(triggers) => set("triggers", triggers)}
          onZone={(zone) => set("zone", zone)}
        />
      </Row>
      <Fold
        title="Permissions"
        summary={
          form.rules.trim() === ""
            ? "no rule of its own"
            : plural(form.rules.trim().split("\n").length, "rule")
        }
      >
        <Row
          field="rules"
          context={context}
          note="One in a line: allow read, allow execute:git log*, deny execute:*push*"
        >
          <textarea rows={3} value={form.rules} onChange={(event) => set("rules", event.target.value)} />
        </Row>
        <Row field="onUnmatched" context={context}>
          <select
            value={form.onUnmatched}
            onChange={(event) => set("onUnmatched", event.target.value as Form["onUnmatched"])}
          >
            <option value="deny">are denied</option>
            <option value="ask">ask a person</option>
          </select>
        </Row>
        {form.onUnmatched === "ask" && <NumberRow field="askMinutes" context={context} />}
      </Fold>
      <Fold
        title="Limits"
        isOpen={opened === "limits"}
        summary={`${form.timeoutMinutes} min a turn, ${form.attempts} ${form.attempts === "1" ? "attempt" : "attempts"}${form.dayCost ? `, ${form.dayCost} ${form.currency} a day` : ""}${form.monthCost ? `, ${form.monthCost} ${form.currency} a month` : ""}`}
      >
        <NumberRow field="timeoutMinutes" context={context} />
        <NumberRow field="silenceMinutes" context={context} />
        <NumberRow field="attempts" context={context} />
        <NumberRow field="pauseAfter" context={context} note="After so many it pauses itself. 0: never." />
        <NumberRow field="dayCost" context={context} />
        <NumberRow field="monthCost" context={context} />
        <Row field="currency" context={context}>
          <input
            value={form.currency}
            maxLength={3}
            onChange={(event) => set("currency", event.target.value.toUpperCase())}
          />
        </Row>
        <NumberRow field="dayTurns" context={context} />
      </Fold>
      <Fold
        title="Late and overlapping runs"
        summary={
          form.catchUp === "none"
            ? "missed runs stay missed"
            : `${form.catchUp} missed, up to ${form.catchUpHours} h late`
        }
      >
        <Row field="catchUp" context={context}>
          <select
            value={form.catchUp}
            onChange={(event) => set("catchUp", event.target.value as Form["catchUp"])}
          >
            <option value="latest">run the latest missed one</option>
            <option value="all">run each missed one</option>
            <option value="none">do not catch up</option>
          </select>
        </Row>
        <NumberRow field="catchUpHours" context={context} />
        <Row field="overlap" context={context}>
          <select
            value={form.overlap}
            onChange={(event) => set("overlap", event.target.value as Form["overlap"])}
          >
            <option value="">
              {form.where === "fresh" ? "run side by side (default)" : "wait for the run before (default)"}
            </option>
            <option value="queue">wait for the run before</option>
            <option value="skip">skip while a run is at work</option>
            <option value="cancel_running">cancel the run at work</option>
            {form.where === "fresh" && <option value="allow">run side by side</option>}
          </select>
        </Row>
        <Row
          field="quietHours"
          context={context}
          note="Windows of the day, such as 22:00-07:00, in the zone of the schedule. A webhook's are in UTC. Runs in them are skipped."
        >
          <input value={form.quietHours} onChange={(event) => set("quietHours", event.target.value)} />
        </Row>
      </Fold>
      <Fold title="Check before" summary={form.precheck.trim() === "" ? "none" : "a command"}>
        <Row
          field="precheck"
          context={context}
          note="A command on the server that decides whether a turn is taken."
        >
          <input value={form.precheck} onChange={(event) => set("precheck", event.target.value)} />
        </Row>
      </Fold>
    </>
  );
}
