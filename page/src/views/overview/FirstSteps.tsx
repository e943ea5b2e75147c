import { useAgents } from "../../api/queries";
import { ButtonLink } from "../../kit/Button";
import listCss from "../../kit/list.module.css";
import { views } from "../registry";
import css from "./overview.module.css";

/** The three steps of a new data folder: an agent, a talk, an automation. Each also says its command. */
export function FirstSteps() {
  const agents = useAgents();
  const names = (agents.data?.items ?? []).map((agent) => agent.name);
  const first = names[0] ?? "claude";
  const hasEditor = views.some((view) => view.pattern === "/automations/new");
  const steps = [
    {
      title: names.length > 0 ? `Agents: ${names.join(", ")}` : "Add an agent",
      text: "An agent is a program that speaks the Agent Client Protocol. `check` starts it and says whether it is signed in.",
      command: names.length > 0 ? `matins agent check ${first}` : "matins agent add claude",
      link: null,
    },
    {
      title: "Talk to it",
      text: "What it learns stays in the conversation, for you and for scheduled runs.",
      command: `matins session send --new --agent ${first} "Hello"`,
      link: { href: "/conversations?new=1", word: "New conversation" },
    },
    {
      title: "Automate it",
      text: "An automation asks the agent on time, in a session that remembers.",
      command: `matins automation add --agent ${first} "0 9 * * 1-5" "Look at the new issues"`,
      link: hasEditor ? { href: "/automations/new", word: "New automation" } : null,
    },
  ];
  return (
    <section className={css.panel} aria-label="First steps">
      <header>
        <h2>First steps</h2>
      </header>
      <ol className={`${listCss.lines} ${css.steps}`}>
        {steps.map((step, index) => (
          <li key={step.title}>
            <span aria-hidden="true">{index + 1}</span>
            <div>
              <h3>{step.title}</h3>
              <p>{step.text}</p>
              <code>{step.command}</code>
            </div>
            {step.link && (
              <ButtonLink kind={index === 1 ? "primary" : "ordinary"} href={step.link.href}>
                {step.link.word}
              </ButtonLink>
            )}
          </li>
        ))}
      </ol>
    </section>
  );
}
