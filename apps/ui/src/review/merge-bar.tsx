import { describeSource, plural } from '@matrix/protocol/display'
import type { ChangesView, FlaggedFile, TaskView } from '@matrix/protocol/http'
import { useMutation } from '@tanstack/react-query'
import { CircleCheck, GitMerge, TriangleAlert } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { sayDone } from '../app/toasts.tsx'
import { client } from '../live/client.ts'
import { Button } from '../parts/button.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { TextArea } from '../parts/field.tsx'
import { ErrorState } from '../parts/states.tsx'
import { mergeTask } from '../task/task-commands.ts'
import { Counts } from './file-header.tsx'
import { formatConflictRequest } from './review-comment.ts'

type MergeBarProps = { task: TaskView; changes: ChangesView; onMerged: () => void }

/** Where the branch stands, whether it would merge, and what can be done about it. */
export function MergeBar({ task, changes, onMerged }: MergeBarProps) {
  const [dialog, setDialog] = useState<'merge' | 'squash' | 'resolve'>()
  const { ahead, behind, conflicts, targetBranch, files } = changes
  const isEmpty = ahead === 0 && files.length === 0
  const close = () => setDialog(undefined)

  return (
    <section
      aria-label="Merging"
      className="flex shrink-0 flex-wrap items-center gap-x-4 gap-y-1 border-b bg-surface px-4 py-2"
    >
      <span className="font-mono text-sm" title={`${changes.branch} → ${targetBranch}`}>
        {shortBranch(changes.branch)} → {shortBranch(targetBranch)}
      </span>
      <span
        className="text-ink-2 text-sm"
        title={`${ahead} commits to bring, ${behind} on ${shortBranch(targetBranch)} that the branch lacks`}
      >
        {ahead} ahead, {behind} behind
      </span>
      <Counts additions={changes.additions} deletions={changes.deletions} />
      <Verdict changes={changes} isEmpty={isEmpty} />
      <span className="flex-1" />
      <span className="flex gap-2">
        {conflicts.length > 0 ? (
          <Button look="primary" onClick={() => setDialog('resolve')}>
            Ask the agent to resolve
          </Button>
        ) : (
          <>
            <Button disabled={isEmpty} onClick={() => setDialog('squash')}>
              Squash
            </Button>
            <Button
              look="primary"
              disabled={isEmpty}
              icon={<GitMerge size={14} aria-hidden />}
              onClick={() => setDialog('merge')}
            >
              Merge
            </Button>
          </>
        )}
      </span>
      {dialog === 'merge' || dialog === 'squash' ? (
        <MergeDialog how={dialog} task={task} changes={changes} onClose={close} onMerged={onMerged} />
      ) : null}
      {dialog === 'resolve' ? <ResolveDialog task={task} changes={changes} onClose={close} /> : null}
    </section>
  )
}

/** The branch of a task is named after its id and its title; the title is what people know. */
export function shortBranch(name: string): string {
  return name.replace(/^mxd\/[0-9A-Z]{26}\//, '')
}

function Verdict({ changes, isEmpty }: { changes: ChangesView; isEmpty: boolean }) {
  const { conflicts, flagged, uncommitted, targetBranch, untrusted = [] } = changes
  return (
    <>
      {isEmpty ? (
        <span className="text-ink-3 text-sm">Nothing to merge</span>
      ) : conflicts.length > 0 ? (
        <State icon={<TriangleAlert size={13} aria-hidden />} look="text-bad">
          Would conflict with {shortBranch(targetBranch)} in {plural(conflicts.length, 'file')}
        </State>
      ) : (
        <State icon={<CircleCheck size={13} aria-hidden />} look="text-ok">
          Would merge
        </State>
      )}
      {untrusted.length > 0 ? (
        <State icon={<TriangleAlert size={13} aria-hidden />} look="text-warn">
          <span title={untrusted.map(describeSource).join('\n')}>Written after untrusted content was read</span>
        </State>
      ) : null}
      {flagged.length > 0 ? (
        <State icon={<TriangleAlert size={13} aria-hidden />} look="text-warn">
          <span title={flagged.map(({ path, reasons }) => `${path}: ${reasons.join(' ')}`).join('\n')}>
            {flagged.length === 1 ? '1 file runs' : `${flagged.length} files run`} by{' '}
            {flagged.length === 1 ? 'itself' : 'themselves'}
          </span>
        </State>
      ) : null}
      {uncommitted.length > 0 ? (
        <State icon={<TriangleAlert size={13} aria-hidden />} look="text-warn">
          <span title={uncommitted.join('\n')}>
            {plural(uncommitted.length, 'file')} not committed, so not part of this
          </span>
        </State>
      ) : null}
    </>
  )
}

function State({ icon, look, children }: { icon: ReactNode; look: string; children: ReactNode }) {
  return (
    <span className={`flex items-center gap-1 text-sm ${look}`}>
      {icon} {children}
    </span>
  )
}

type MergeDialogProps = MergeBarProps & { how: 'merge' | 'squash'; onClose: () => void }

function MergeDialog({ how, task, changes, onClose, onMerged }: MergeDialogProps) {
  const [message, setMessage] = useState(how === 'squash' ? task.title : '')
  const [updateCheckout, setUpdateCheckout] = useState(true)
  const [isAccepted, setAccepted] = useState(false)
  const { flagged } = changes
  const merge = useMutation({
    meta: { quiet: true },
    mutationFn: () =>
      mergeTask(
        { projectId: task.projectId, taskId: task.id },
        {
          how,
          updateCheckout,
          expectedHead: changes.head,
          acceptFlagged: isAccepted ? flagged.map(({ path }) => path) : [],
          ...(message.trim() === '' ? {} : { message: message.trim() }),
        },
      ),
    onSuccess: (isMerged) => {
      if (isMerged) onMerged()
      onClose()
    },
  })
  const words = how === 'merge' ? 'Merge' : 'Squash and merge'

  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={`${words} into ${shortBranch(changes.targetBranch)}`}
      about={`${plural(changes.ahead, 'commit')}, ${plural(changes.files.length, 'file')}. Only what you see here is merged: if the branch moves on, nothing is.`}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            look="primary"
            isBusy={merge.isPending}
            disabled={flagged.length > 0 && !isAccepted}
            onClick={() => merge.mutate()}
          >
            {words}
          </Button>
        </>
      }
    >
      <label className="block">
        <span className="text-sm">Message of the commit{how === 'merge' ? ' (optional)' : ''}</span>
        <TextArea rows={3} value={message} onChange={(event) => setMessage(event.target.value)} />
      </label>
      {task.parentId === null ? (
        <label className="mt-3 flex items-start gap-2">
          <input
            type="checkbox"
            className="mt-1"
            checked={updateCheckout}
            onChange={(event) => setUpdateCheckout(event.target.checked)}
          />
          <span>
            Bring my own checkout along
            <span className="block text-ink-2 text-sm">
              If {changes.targetBranch} is checked out in your repository, its files change too. Without this, nothing
              is merged then.
            </span>
          </span>
        </label>
      ) : null}
      {changes.untrusted?.length ? (
        <p className="mt-3 text-sm text-warn">
          Its agents had read untrusted content: {changes.untrusted.map(describeSource).join('; ')}.
        </p>
      ) : null}
      {flagged.length > 0 ? <FlaggedTick flagged={flagged} isAccepted={isAccepted} onChange={setAccepted} /> : null}
      {merge.error ? <ErrorState error={merge.error} /> : null}
    </Dialog>
  )
}

type FlaggedTickProps = { flagged: FlaggedFile[]; isAccepted: boolean; onChange: (isAccepted: boolean) => void }

/** Files that run by themselves are merged only after the user has accepted them by name. */
function FlaggedTick({ flagged, isAccepted, onChange }: FlaggedTickProps) {
  return (
    <label className="mt-3 flex items-start gap-2">
      <input
        type="checkbox"
        className="mt-1"
        checked={isAccepted}
        onChange={(event) => onChange(event.target.checked)}
      />
      <span className="min-w-0">
        I have looked at the files that run by themselves
        <span className="block max-h-48 overflow-y-auto text-sm text-warn">
          {flagged.map(({ path, reasons }) => (
            <span key={path} className="block break-words">
              <bdi className="font-mono">{path}</bdi>: {reasons.join(' ')}
            </span>
          ))}
        </span>
      </span>
    </label>
  )
}

function ResolveDialog({ task, changes, onClose }: { task: TaskView; changes: ChangesView; onClose: () => void }) {
  const [text, setText] = useState(formatConflictRequest(changes.targetBranch, changes.conflicts))
  const send = useMutation({
    mutationFn: () =>
      client.sendMessage({
        projectId: task.projectId,
        taskId: task.id,
        body: { text, requestId: crypto.randomUUID() },
      }),
    onSuccess: () => {
      sayDone('Asked the agent to resolve the conflict')
      onClose()
    },
  })
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title="Ask the agent to resolve"
      about="This message is sent to the agent of the task."
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" isBusy={send.isPending} disabled={text.trim() === ''} onClick={() => send.mutate()}>
            Send
          </Button>
        </>
      }
    >
      <TextArea rows={10} aria-label="Message" value={text} onChange={(event) => setText(event.target.value)} />
    </Dialog>
  )
}
