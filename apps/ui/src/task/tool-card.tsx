import { describeOrigin, displayToolCall, displayToolResult } from '@matrix/protocol/display'
import type { TaskView } from '@matrix/protocol/http'
import { ChevronRight, CircleCheck, CircleDashed, CircleHelp, CircleX, Hourglass, LoaderCircle } from 'lucide-react'
import { memo, useMemo } from 'react'
import { titleOf } from '../live/live.ts'
import { classes } from '../parts/classes.ts'
import { useFold } from '../parts/fold.ts'
import { formatDuration } from '../parts/formats.ts'
import { BodyView } from './body-view.tsx'
import type { CallState, ToolCallEvent, ToolResult } from './transcript-items.ts'
import { UntrustedMark } from './untrusted-mark.tsx'

type State = CallState['state']
type ToolCardProps = {
  call: ToolCallEvent
  seq: number
  state: State
  result: ToolResult | undefined
  activity: TaskView['activity']
  /** A call of this task waits for a person's leave. */
  isAsking: boolean
  /** What it has printed last, while it runs. */
  output: string | undefined
}

/** A call and its answer on one line; everything else about it when it is opened. */
export const ToolCard = memo(function ToolCard(props: ToolCardProps) {
  const { call, seq, state, result, activity, isAsking } = props
  const output = result ? undefined : props.output
  const [isOpen, toggle] = useFold(`${call.taskId}/${seq}`)
  const asked = useMemo(() => displayToolCall(call, { titleOf, maxLength: isOpen ? 200_000 : 400 }), [call, isOpen])
  const answered = useMemo(
    () => (result ? displayToolResult(result, call, { titleOf, maxLength: isOpen ? 200_000 : 400 }) : undefined),
    [result, call, isOpen],
  )
  const bodies = result && asked.bodies[0]?.kind === 'command' ? [] : asked.bodies
  const tone = answered?.tone ?? asked.tone
  const mark = describeOrigin(result?.origin)

  return (
    <div className={classes('rounded-md border', isOpen ? 'bg-surface' : 'border-transparent hover:border-line')}>
      <button
        type="button"
        aria-expanded={isOpen}
        onClick={toggle}
        className="flex h-8 w-full items-center gap-2 rounded-md px-2 text-left pointer-coarse:h-11"
      >
        <CallMark state={state} activity={activity} tone={tone} />
        <span className="shrink-0 font-medium">{asked.title}</span>
        <span className="min-w-0 flex-1 truncate font-mono text-ink-2 text-sm">{asked.summary}</span>
        <span
          className={classes(
            'max-w-[40%] shrink-0 truncate text-sm max-sm:hidden',
            tone === 'bad' ? 'text-bad' : tone === 'warning' ? 'text-warn' : 'text-ink-3',
          )}
        >
          {answered ? answered.summary : openWords(state, activity, isAsking)}
        </span>
        {mark ? <UntrustedMark mark={mark} /> : null}
        {result ? <Took from={call.ts} to={result.ts} /> : null}
        <ChevronRight
          size={14}
          aria-hidden
          className={classes('shrink-0 text-ink-3 transition-transform', isOpen && 'rotate-90')}
        />
      </button>
      {isOpen ? (
        <div className="px-2 pb-1">
          {bodies.map((body, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a call never move.
            <BodyView key={`asked-${index}`} body={body} />
          ))}
          {answered?.bodies.map((body, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: as above.
            <BodyView key={`answered-${index}`} body={body} isError={result?.isError ?? false} />
          ))}
          {output ? <BodyView body={{ kind: 'text', text: output }} /> : null}
          {!output && bodies.length + (answered?.bodies.length ?? 0) === 0 ? (
            <p className="pb-1 text-ink-2 text-sm">{answered?.summary ?? openWords(state, activity, isAsking)}</p>
          ) : null}
          {call.uri ? <p className="truncate pb-1 font-mono text-ink-3 text-xs">{call.uri}</p> : null}
        </div>
      ) : output ? (
        <LastLines text={output} />
      ) : null}
    </div>
  )
})

const linesShown = 5

/** What a call prints, where it is not opened: enough to see that it moves, and where it is. */
function LastLines({ text }: { text: string }) {
  const lines = text.trimEnd().split('\n').slice(-linesShown)
  return <pre className="overflow-hidden px-2 pb-1 pl-8 font-mono text-ink-3 text-xs">{lines.join('\n')}</pre>
}

/** A call without an answer runs only while the agent works; otherwise nobody can say that it does. */
function openWords(state: State, activity: TaskView['activity'], isAsking: boolean): string {
  if (state === 'unknown') return 'answer not loaded'
  if (isAsking) return 'waits for your approval, or runs'
  return standing[activity] ?? 'not answered'
}

const standing: Partial<Record<TaskView['activity'], string>> = {
  starting: 'starting',
  working: 'running',
  waiting: 'waiting',
  blocked: 'waits for you',
}

function CallMark({ state, activity, tone }: Pick<ToolCardProps, 'state' | 'activity'> & { tone: string }) {
  const look = 'shrink-0'
  if (state === 'unknown')
    return <CircleHelp size={14} aria-label="Not loaded" className={classes(look, 'text-ink-3')} />
  if (state === 'open')
    return activity === 'working' ? (
      <LoaderCircle size={14} aria-label="Running" className={classes(look, 'animate-spin text-accent')} />
    ) : activity === 'waiting' ? (
      <Hourglass size={14} aria-label="Waiting" className={classes(look, 'text-ink-3')} />
    ) : (
      <CircleDashed size={14} aria-label="Not answered" className={classes(look, 'text-warn')} />
    )
  if (tone === 'bad') return <CircleX size={14} aria-label="Failed" className={classes(look, 'text-bad')} />
  if (tone === 'warning') return <CircleX size={14} aria-label="Ended badly" className={classes(look, 'text-warn')} />
  return <CircleCheck size={14} aria-label="Done" className={classes(look, 'text-ink-3')} />
}

function Took({ from, to }: { from: string; to: string }) {
  const ms = Date.parse(to) - Date.parse(from)
  return ms < 1000 ? null : <span className="tabular shrink-0 text-ink-3 text-sm">{formatDuration(ms)}</span>
}
