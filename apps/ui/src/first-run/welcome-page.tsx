import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { showKeys } from '../app/key-help.tsx'
import { usePreferences } from '../app/preferences.ts'
import { useProjects } from '../live/live.ts'
import { Button, Key } from '../parts/button.tsx'
import { FirstSteps } from './first-steps.tsx'

/** What Matrix is, in the words that the rest of the page uses. */
export function WelcomePage() {
  const projects = useProjects()
  const demo = projects.find(({ isDemo }) => isDemo)
  if (projects.length === 0) return <FirstSteps />

  return (
    <div className="h-full overflow-auto">
      <article className="mx-auto flex max-w-2xl flex-col gap-6 px-6 py-10">
        <h1 className="font-semibold text-2xl">How to read this page</h1>
        <Words title="A task is one piece of work">
          It has a title, a branch and an agent. Tasks hang together in a tree: an agent that splits its work makes
          tasks below its own.
        </Words>
        <Words title="The dot tells how it stands">
          Blue works, amber waits for you, green passed, red failed; a ring has nothing to do. The word is always beside
          it.
        </Words>
        <Words title="The inbox is where you are needed">
          Questions, approvals, conflicts, budgets, failures and finished work, from every agent in every project.{' '}
          <Key>j</Key> <Key>k</Key> move, <Key>Enter</Key> opens, <Key>a</Key> allows, <Key>d</Key> denies.
        </Words>
        <Words title="Your checkout stays as it is">
          Agents work in worktrees of their own. Nothing reaches your branch until you merge it on the review page.
        </Words>
        <Words title="Everything is one key away">
          <Key>{showKeys('mod+k')}</Key> reaches every command, every task and everything ever said; <Key>?</Key> lists
          all keys.
        </Words>
        <div className="flex gap-2">
          <Link
            to="/"
            className="inline-flex h-8 items-center rounded-md bg-accent px-3 font-medium text-accent-ink hover:brightness-110"
          >
            Go to the inbox
          </Link>
          {demo ? (
            <Button onClick={() => usePreferences.setState({ isTourDone: false, tour: {} })}>
              Start the tour again
            </Button>
          ) : null}
        </div>
      </article>
    </div>
  )
}

function Words({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section>
      <h2 className="font-semibold text-md">{title}</h2>
      <p className="mt-0.5 text-ink-2 text-md">{children}</p>
    </section>
  )
}
