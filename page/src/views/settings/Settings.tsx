import type { ReactNode } from "react";
import { Link, Redirect } from "wouter";
import { usePermission } from "../../api/queries";
import type { Permission } from "../../api/types";
import { Agents } from "./Agents";
import { Appearance } from "./Appearance";
import { Instances } from "./Instances";
import { Notifications } from "./Notifications";
import css from "./settings.module.css";
import { Tenants } from "./Tenants";
import { Tokens } from "./Tokens";

const SECTIONS: { value: string; label: string; permission: Permission | null; content: ReactNode }[] = [
  { value: "agents", label: "Agents", permission: "agents:read", content: <Agents /> },
  { value: "instances", label: "Instances", permission: "instances:read", content: <Instances /> },
  { value: "tokens", label: "Tokens", permission: "tokens:read", content: <Tokens /> },
  {
    value: "notifications",
    label: "Notifications",
    permission: "notifications:read",
    content: <Notifications />,
  },
  { value: "tenants", label: "Tenants and budgets", permission: "tenants:read", content: <Tenants /> },
  { value: "appearance", label: "Appearance", permission: null, content: <Appearance /> },
];

/** The route `/settings/:section?`. */
export default function Settings({ params }: { params: { section?: string } }) {
  const may = usePermission();
  const section = SECTIONS.find((each) => each.value === params.section);
  if (section === undefined) return <Redirect to="/settings/agents" replace />;
  const permitted = section.permission === null || may(section.permission);
  return (
    <div className={css.settings}>
      <nav aria-label="Settings">
        <h1>Settings</h1>
        <ul>
          {SECTIONS.map((each) => (
            <li key={each.value}>
              <Link
                href={`/settings/${each.value}`}
                aria-current={each.value === section.value ? "page" : undefined}
                data-hidden={each.permission !== null && !may(each.permission)}
              >
                {each.label}
              </Link>
            </li>
          ))}
        </ul>
      </nav>
      <section className={css.content} aria-label={section.label}>
        <h2>{section.label}</h2>
        {permitted ? (
          section.content
        ) : (
          <p className={css.note}>Your role does not show this: it needs {section.permission}.</p>
        )}
      </section>
    </div>
  );
}
