/**
 * The views of the page, in the order of the navigation. Only a view that is here is shown.
 *
 * To add one: put it into `src/views/<name>/`, add an entry, and load it with `lazy`, so that the first view stays
 * small.
 */
import { MessageSquare } from "lucide-react";
import type { ComponentType } from "react";
import { Conversations } from "./conversations/Conversations";

export interface View {
  label: string;
  /** The address of the view's start. */
  href: string;
  /** The route, as wouter writes it. A view with several addresses has several entries; only those with `icon` are
   * in the navigation. */
  pattern: string;
  // biome-ignore lint/suspicious/noExplicitAny: the parameters differ from route to route.
  component: ComponentType<any>;
  icon?: ComponentType<{ size?: number; "aria-hidden"?: boolean }>;
  /** The letter after `g`. */
  key?: string;
  /** Returns the number of things on which somebody must act. */
  useCount?: () => number;
}

export const views: View[] = [
  {
    label: "Conversations",
    href: "/conversations",
    pattern: "/conversations/:id?",
    component: Conversations,
    icon: MessageSquare,
    key: "c",
  },
];
