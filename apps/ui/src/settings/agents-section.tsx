import type { AgentProposalView, AgentView } from '@matrix/protocol/http'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Upload } from 'lucide-react'
import { useRef, useState } from 'react'
import { sayDone } from '../app/toasts.tsx'
import { client } from '../live/client.ts'
import { useProjects } from '../live/live.ts'
import { Badge, type Tone } from '../parts/badge.tsx'
import { Button } from '../parts/button.tsx'
import { ErrorState, Loading } from '../parts/states.tsx'
import { AgentProposal } from './agent-proposal.tsx'

const sources: Record<AgentView['source'], string> = {
  shipped: 'comes with Matrix',
  user: 'yours',
  project: 'repository',
}
const states: Record<AgentView['state'], { label: string; tone: Tone }> = {
  approved: { label: 'approved', tone: 'ok' },
  unapproved: { label: 'needs approval', tone: 'warn' },
  damaged: { label: 'damaged', tone: 'bad' },
}

/** The agents that tasks can name, and a way to add one from a file. */
export function AgentsSection({ projectId }: { projectId: string | undefined }) {
  const place = projectId ? { projectId } : {}
  const { data, error, refetch } = useQuery({
    queryKey: ['agents', projectId],
    queryFn: ({ signal }) => client.listAgents(place, { signal }),
  })
  if (error) return <ErrorState error={error} onRetry={() => void refetch()} />
  if (!data) return <Loading />
  return (
    <div className="mx-auto flex max-w-3xl flex-col gap-4 p-4 max-sm:p-2">
      <AddAgent projectId={projectId} />
      <ul className="divide-y rounded-lg border bg-surface">
        {data.map((agent) => (
          <li key={agent.file} className="px-3 py-2.5">
            <Agent agent={agent} />
          </li>
        ))}
      </ul>
    </div>
  )
}

function Agent({ agent }: { agent: AgentView }) {
  const state = states[agent.state]
  const isHidden = agent.state === 'approved' && !agent.isInForce
  return (
    <>
      <p className="flex flex-wrap items-center gap-2 font-medium">
        {agent.name}
        <Badge tone="neutral">{sources[agent.source]}</Badge>
        <Badge tone={state.tone}>{state.label}</Badge>
        {agent.isLocked ? <Badge tone="neutral">locked</Badge> : null}
        {isHidden ? <Badge tone="warn">not used: another has this name</Badge> : null}
      </p>
      <p className="text-ink-2">{agent.problem?.message ?? agent.description}</p>
      <p className="text-ink-2 text-sm">
        {agent.allowedSideEffects.length > 0 ? `May ${agent.allowedSideEffects.join(', ')}.` : 'May do nothing.'}
        {agent.leftOut.map(({ alias }) => ` Works without ${alias}.`)}
      </p>
      <p className="truncate font-mono text-ink-3 text-xs" title={agent.file}>
        {agent.file}
      </p>
    </>
  )
}

/** Read, pinned and shown first; kept when the user says so. */
function AddAgent({ projectId }: { projectId: string | undefined }) {
  const chooser = useRef<HTMLInputElement>(null)
  const [proposal, setProposal] = useState<AgentProposalView>()
  const projects = useProjects()
  const cache = useQueryClient()
  const place = projectId ? { projectId } : {}
  const propose = useMutation({
    mutationFn: async (file: File) =>
      client.proposeAgent({ body: { fileName: file.name, content: await readBase64(file), ...place } }),
    onSuccess: setProposal,
  })
  const add = useMutation({
    mutationFn: ({ digest, inProject }: { digest: string; inProject: boolean }) =>
      client.addAgent({ body: { digest, skip: true, replace: true, ...(inProject ? place : {}) } }),
    onSuccess: ({ name }) => {
      sayDone(`${name} was added`)
      setProposal(undefined)
      void cache.invalidateQueries({ queryKey: ['agents'] })
    },
  })
  const project = projects.find(({ id }) => id === projectId)
  return (
    <div className="rounded-lg border bg-surface p-3">
      <h2 className="font-medium">Add an agent</h2>
      <p className="mt-1 mb-2 text-ink-2">
        From a file of Amazon Q, Kiro, Claude, Cursor or VS Code, or a manifest. Its servers are started once in a
        sandbox, and you are shown what the agent may do before it is added.
      </p>
      <input
        ref={chooser}
        type="file"
        className="sr-only"
        aria-label="Agent file"
        tabIndex={-1}
        onChange={({ target }) => {
          const [file] = target.files ?? []
          if (file) propose.mutate(file)
          target.value = ''
        }}
      />
      <Button
        icon={<Upload size={14} aria-hidden />}
        isBusy={propose.isPending}
        onClick={() => chooser.current?.click()}
      >
        {propose.isPending ? 'Starting its servers …' : 'Choose a file'}
      </Button>
      {proposal ? (
        <AgentProposal
          proposal={proposal}
          projectName={project?.name}
          isBusy={add.isPending}
          onClose={() => setProposal(undefined)}
          onAdd={(inProject) => add.mutate({ digest: proposal.digest, inProject })}
        />
      ) : null}
    </div>
  )
}

async function readBase64(file: File): Promise<string> {
  const bytes = new Uint8Array(await file.arrayBuffer())
  let text = ''
  for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192))
  return btoa(text)
}
