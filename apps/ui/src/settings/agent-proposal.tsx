import type { AgentProposalView } from '@matrix/protocol/http'
import { TriangleAlert } from 'lucide-react'
import { Badge } from '../parts/badge.tsx'
import { Button } from '../parts/button.tsx'
import { Dialog } from '../parts/dialog.tsx'

type Props = {
  proposal: AgentProposalView
  /** The project that it can be added to, beside those of the user. */
  projectName: string | undefined
  isBusy: boolean
  onClose(): void
  onAdd(inProject: boolean): void
}

/** Everything that an agent would be and may do, before anything of it is kept. */
export function AgentProposal({ proposal, projectName, isBusy, onClose, onAdd }: Props) {
  const { name, description, words, servers, leftOut, findings, suspicions, notes, replaces } = proposal
  const others = replaces.filter(({ source }) => source !== 'shipped')
  const warnings = [...suspicions, ...findings.filter(({ severity }) => severity !== 'note').map(tell), ...notes]
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={`Add ${name}?`}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          {projectName ? (
            <Button isBusy={isBusy} onClick={() => onAdd(true)}>
              Add to {projectName}
            </Button>
          ) : null}
          <Button look="primary" isBusy={isBusy} onClick={() => onAdd(false)}>
            Add for all projects
          </Button>
        </>
      }
    >
      <p className="text-ink-2">{description}</p>
      <h3 className="mt-3 font-medium">What it may do</h3>
      <ul className="list-disc pl-5">
        {words.map((sentence) => (
          <li key={sentence} className="break-words">
            {sentence}
          </li>
        ))}
      </ul>
      {leftOut.length > 0 ? <h3 className="mt-3 font-medium">Left out</h3> : null}
      {leftOut.map(({ alias, reason, hint }) => (
        <p key={alias} className="break-words text-ink-2">
          <Badge tone="warn">{alias}</Badge> {reason} {hint}
        </p>
      ))}
      {servers.map(({ alias, from, tools }) => (
        <details key={alias} className="mt-2">
          <summary className="cursor-pointer">
            <span className="font-medium">{alias}</span>{' '}
            <span className="text-ink-2">
              {from}, {tools.length} tools
            </span>
          </summary>
          <ul className="pl-5 text-sm">
            {tools.map((tool) => (
              <li key={tool.name} className="break-words">
                <code>{tool.name}</code>: {tool.sideEffect}, <span className="text-ink-2">{tool.reason}</span>
              </li>
            ))}
          </ul>
        </details>
      ))}
      {warnings.length > 0 || others.length > 0 ? (
        <div className="mt-3 rounded-lg border border-warn/40 bg-warn-soft p-3">
          {others.map(({ file }) => (
            <Warning key={file} text={`It takes the place of ${file}.`} />
          ))}
          {warnings.map((text) => (
            <Warning key={text} text={text} />
          ))}
        </div>
      ) : null}
    </Dialog>
  )
}

function Warning({ text }: { text: string }) {
  return (
    <p className="flex gap-2 break-words">
      <TriangleAlert size={14} aria-hidden className="mt-1 shrink-0 text-warn" /> {text}
    </p>
  )
}

function tell({ rule, line, column, message }: AgentProposalView['findings'][number]): string {
  return `${line}:${column} ${message} (${rule})`
}
