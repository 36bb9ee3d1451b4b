import { execFileSync } from 'node:child_process'
import { readFileSync, realpathSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Attention, ChangesView, ConfigEntry, ConfigView, Frame, ToolsView } from '@matrix/protocol/http'
import { expect, test } from 'vitest'
import { fakeDaemon, projectView, rootId, taskView } from '../fake-daemon.testing.ts'
import { folderWith, matrix } from '../matrix-process.testing.ts'

const projectId = projectView().id
const childId = '01K1A000000000000000000000'
const root = taskView(rootId, { title: 'Ship it', children: [childId], activity: 'waiting', lastSeq: 7 })
const child = taskView(childId, {
  title: 'Write the parser',
  parentId: rootId,
  activity: 'working',
  doing: 'Run npm test',
})
const here = { listProjects: [projectView({ path: process.cwd() })], listTasks: [root, child] }
const since = '2026-01-01T00:00:00.000Z'

test('without a daemon, every command says so and how to start it', async () => {
  const env = { MXD_DATA_DIR: folderWith() }

  for (const args of [['tree'], ['send', 'root', 'hi'], ['inbox'], ['daemon', 'status'], ['config', 'list', '-p', 'x']])
    expect(await matrix(args, { env })).toMatchObject({
      code: 4,
      stderr: expect.stringMatching(/No daemon runs on .*\n.*matrix daemon start/),
    })
  expect(await matrix(['daemon', 'stop'], { env })).toMatchObject({ code: 0, stdout: 'No daemon runs.\n' })
})

test('outside of every project, the command says which there are', async () => {
  const { env } = await fakeDaemon({ listProjects: [projectView()] })

  expect(await matrix(['tree'], { env })).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/is in no project of Matrix\.\n.*There is demo: name one with --project/),
  })
})

test('a project is named by its name, its folder or the start of its id', async () => {
  const { env } = await fakeDaemon({ ...here, listProjects: [projectView()] })

  for (const name of ['demo', '/demo', '01kp']) expect((await matrix(['tree', '-p', name], { env })).code).toBe(0)
  expect(await matrix(['tree', '-p', 'other'], { env })).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('There is no project “other”'),
  })
})

const configuration = {
  current: { provider: 'anthropic', model: 'a', tools: ['x'] },
  offered: { provider: 'anthropic', model: 'b', tools: ['x'] },
  changes: { model: true, prompt: false, addedTools: [], removedTools: [], changedTools: [] },
  isRequested: false,
  cache: { tokens: 12_400, usd: 0.042 },
}

test('restart says what a session takes and what that costs, and --check does nothing', async () => {
  const restarted = { ...configuration, isRequested: true }
  const { env, asked } = await fakeDaemon({ ...here, readConfiguration: configuration, restartAgent: restarted })
  const checked = await matrix(['restart', 'root', '--check'], { env })
  const before = asked.filter(({ operation }) => operation === 'restartAgent').length
  const done = await matrix(['restart', 'root', '--now'], { env })

  const cost = 'The provider reads 12k tokens anew instead of from its cache: at most $0.0420 once.'
  expect(checked.stdout).toBe(
    `“Ship it” runs with an older configuration. The settings would give it:\n  model a → b\n${cost}\n`,
  )
  expect(before).toBe(0)
  expect(done.stdout).toBe(`“Ship it” takes the configuration of now at once:\n  model a → b\n${cost}\n`)
  expect(asked.at(-1)).toMatchObject({ operation: 'restartAgent', body: { now: true } })
})

const ada = {
  GIT_AUTHOR_NAME: 'Ada',
  GIT_AUTHOR_EMAIL: 'ada@example.com',
  GIT_COMMITTER_NAME: 'Ada',
  GIT_COMMITTER_EMAIL: 'ada@example.com',
}

test('what was wrong with a project when the daemon looked is looked at again by init', async () => {
  const folder = realpathSync(folderWith())
  execFileSync('git', ['init', '--quiet', '-b', 'main', folder])
  const problem = { code: 'PROJECT_UNUSABLE', message: 'There are no commits yet.', hint: 'Make a first commit.' }
  const { env, asked } = await fakeDaemon({
    listProjects: [projectView({ path: folder, problem })],
    updateProject: projectView({ path: folder }),
    getSetup: {
      decision: { choice: 'none', script: null, files: [], sha256: null, decidedAt: '2026-01-01T00:00:00.000Z' },
      changed: null,
      proposal: { choice: 'none', script: null, files: [], source: 'detected', notes: [] },
      seen: null,
      detected: { languages: [], found: [], testCommand: null },
      hosts: [],
      instructions: [],
      sandbox: { isActive: true, reason: null },
    },
    readConfig: { entries: [], problems: [] },
    getStatus: {
      version: '0.0.0',
      pid: process.pid,
      startedAt: '2026-01-01T00:00:00.000Z',
      dataDirectory: '/data',
      sandbox: { isActive: true, reason: null },
      agents: { live: 0, working: 0 },
      provider: { kind: 'configured', model: 'm' },
    },
  })
  const { code, stdout } = await matrix(['init', folder], { env: { ...env, ...ada } })

  expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.not.stringContaining('no commits') })
  expect(asked.map(({ operation }) => operation)).toContain('updateProject')
})

test('a project with a problem says what it is', async () => {
  const problem = { code: 'PROJECT_UNUSABLE', message: 'The folder is gone.', hint: 'Move it back.' }
  const { env } = await fakeDaemon({ listProjects: [projectView({ path: process.cwd(), problem })] })

  expect(await matrix(['tree'], { env })).toMatchObject({
    code: 2,
    stderr: 'error: The folder is gone.\n  Move it back. matrix daemon restart looks again.\n',
  })
})

test('the tree goes into a pipe whole and without colours', async () => {
  const { env } = await fakeDaemon(here)

  expect((await matrix(['tree'], { env })).stdout).toMatch(
    /^demo {2}main · \$1\.50 · 1 working · 1 waiting\n◌ Ship it +01K00000 {2}waiting .*\n└─ ● Write the parser {2}01K1A000 {2}working .* Run npm test\n$/,
  )
  expect(JSON.parse((await matrix(['tree', '--json'], { env })).stdout)).toMatchObject({
    tasks: [{ id: rootId }, { id: childId }],
  })
})

test('a watched tree is a line for every change when nobody looks at it', async () => {
  const frames: Frame[] = [
    { kind: 'resync', reason: 'start' },
    { kind: 'task', projectId, task: { ...child, costUsd: 1 } },
    { kind: 'task', projectId, task: { ...child, activity: 'off', status: 'passed' } },
  ]
  const { env } = await fakeDaemon(here, frames)
  const { stdout, code } = await matrix(['tree', '--watch'], { env, untilOutput: /passed/ })

  expect(stdout.split('\n').map((line) => line.split(/ {2,}/).slice(2).join(' '))).toEqual([
    'waiting Ship it',
    'working Write the parser',
    'passed Write the parser',
    '',
  ])
  expect(code).toBe(130)
})

test('words, standard input and pictures are sent to the task that is meant', async () => {
  const { env, asked } = await fakeDaemon({ ...here, sendMessage: { messageId: 'm1', waitsFor: null } })
  const folder = folderWith({ 'a.png': Buffer.from('89504e470d0a1a0a', 'hex'), 'a.txt': 'no picture' })

  expect(await matrix(['send', 'parser', 'Go', 'on'], { env })).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^Sent to Write the parser\..*matrix watch 01K1A000/),
  })
  await matrix(['send', 'root', '-', '--image', join(folder, 'a.png')], { env, input: 'from\na pipe' })
  expect(asked.filter(({ operation }) => operation === 'sendMessage')).toMatchObject([
    { params: { projectId, taskId: childId }, body: { text: 'Go on' } },
    {
      params: { taskId: rootId },
      body: { text: 'from\na pipe', images: [{ mediaType: 'image/png', data: 'iVBORw0KGgo=' }] },
    },
  ])
  expect((await matrix(['send', 'root', 'x', '--image', join(folder, 'a.txt')], { env })).stderr).toContain(
    'is not a picture',
  )
  expect(await matrix(['send', 'root', '-'], { env, input: ' \n' })).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('nothing to send'),
  })
})

test('the conversation so far is words for people and events for programs', async () => {
  const stamp = { taskId: childId, ts: since }
  const call = { type: 'tool_call' as const, ...stamp, callId: 'c', name: 'mcp__mxd__bash', input: { command: 'ls' } }
  const result = {
    type: 'tool_result' as const,
    ...stamp,
    callId: 'c',
    content: [{ type: 'text' as const, text: 'a\nb' }],
    isError: false,
  }
  const { env } = await fakeDaemon({
    ...here,
    readEvents: {
      events: [
        { seq: 1, event: call },
        { seq: 2, event: result },
        { seq: 3, event: { type: 'new_kind' } },
      ],
      more: false,
      lastSeq: 3,
    },
  })

  expect((await matrix(['logs', 'parser'], { env })).stdout).toBe('▸ Run ls\n  └ 2 lines\n')
  expect(
    (await matrix(['logs', 'parser', '--raw'], { env })).stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).seq),
  ).toEqual([1, 2, 3])
})

test('a long conversation is read page by page, from its end', async () => {
  const event = (seq: number) => ({
    seq,
    event: { type: 'assistant_text' as const, taskId: childId, ts: since, text: `number ${seq}` },
  })
  const { env } = await fakeDaemon({
    ...here,
    readEvents: ({ query }) => {
      const end = (query.before ?? 2501) - 1
      const start = Math.max(1, end - query.limit + 1)
      return {
        events: Array.from({ length: end - start + 1 }, (_, index) => event(start + index)),
        more: start > 1,
        lastSeq: 2500,
      }
    },
  })

  const seqs = (await matrix(['logs', 'parser', '--raw'], { env })).stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).seq)
  expect(seqs).toEqual(Array.from({ length: 2500 }, (_, index) => index + 1))
  expect((await matrix(['logs', 'parser', '--raw', '-n', '2'], { env })).stdout.trim().split('\n')).toHaveLength(2)
})

test('what happens in a project is shown with the task it happens in', async () => {
  const frames: Frame[] = [
    {
      kind: 'event',
      projectId,
      taskId: childId,
      seq: 8,
      event: { type: 'assistant_text', taskId: childId, ts: since, text: 'Done \u001B[2J' },
    },
    { kind: 'task', projectId, task: { ...child, activity: 'off', status: 'passed' } },
  ]
  const { env } = await fakeDaemon(here, frames)
  const { stdout } = await matrix(['watch'], { env, untilOutput: /passed/ })

  expect(stdout).toContain('Write the parser   │   Done <U+001B>[2J\n')
  expect(stdout).toContain('Write the parser   │ · working → passed\n')
})

test('who watches is told that the daemon went away, and that it is back', async () => {
  const daemon = await fakeDaemon(here)
  const watching = matrix(['watch'], { env: daemon.env, untilOutput: /is back/ })
  await expect.poll(daemon.listeners).toBe(1)
  daemon.leave()
  await sleep(2500)
  daemon.comeBack()

  expect((await watching).stderr).toBe(
    'The daemon does not answer. Waiting for it to come back.\nThe daemon is back.\n',
  )
})

test('an approval binds to the arguments that were looked at', async () => {
  const { env, asked } = await fakeDaemon({ listAttention: [approval], answerApproval: null })

  const { stdout } = await matrix(['approve', '--list'], { env })
  expect(stdout).toContain('matrix://tool/mcp/mxd/bash@1.0.0')
  expect(stdout).toContain('command: rm <U+202E>x')
  expect(await matrix(['approve'], { env })).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('No terminal to ask on'),
  })
  expect(await matrix(['approve', '--scope', 'once', '--digest', 'sha256:0000'], { env })).toMatchObject({ code: 2 })
  expect(await matrix(['approve', '--scope', 'once'], { env })).toMatchObject({ code: 2 })
  expect(await matrix(['approve', 'parser', '--scope', 'once', '--digest', 'sha256:abcd'], { env })).toMatchObject({
    code: 0,
    stdout: 'Allowed.\n',
  })
  const any = ['--scope', 'task', '--digest', 'sha256:abcd', '--any-arguments']
  expect(await matrix(['approve', 'parser', ...any], { env })).toMatchObject({ code: 0 })
  expect(await matrix(['approve', '--deny', '--reason', 'no'], { env })).toMatchObject({ code: 0, stdout: 'Denied.\n' })
  expect(asked.filter(({ operation }) => operation === 'answerApproval')).toMatchObject([
    { params: { approvalId: 'approval:c1' }, body: { decision: 'allow', scope: 'once', inputDigest: 'sha256:abcdef' } },
    { body: { decision: 'allow', scope: 'task', inputDigest: 'sha256:abcdef', anyArguments: true } },
    { body: { decision: 'deny', reason: 'no' } },
  ])
})

test('an approval takes only the scopes that it offers', async () => {
  const digest = call.inputDigest
  const message: typeof call = { ...call, uri: 'send_message_to_project', scopes: ['once'] }
  const daemon = await fakeDaemon({ listAttention: [{ ...approval, approval: message }], answerApproval: null })

  expect((await matrix(['approve', '--list'], { env: daemon.env })).stdout).toContain('scopes  once\n')
  expect(await matrix(['approve', '--scope', 'always', '--digest', digest], { env: daemon.env })).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('does not take the scope always'),
  })
  expect(await matrix(['approve', '--digest', digest], { env: daemon.env })).toMatchObject({ code: 0 })
  expect(daemon.asked.filter(({ operation }) => operation === 'answerApproval')).toMatchObject([
    { body: { decision: 'allow', scope: 'once' } },
  ])
})

test('a question is answered by its task, in words or by the number of an option', async () => {
  const ofRoot = { ...question, id: 'question:root', taskId: rootId, taskTitle: 'Ship it' }
  const listProjects = [projectView({ rootTaskId: rootId })]
  const { env, asked } = await fakeDaemon({
    listProjects,
    listAttention: [question, approval, ofRoot],
    answerQuestion: null,
  })

  expect((await matrix(['inbox'], { env })).stdout).toMatch(
    /question {2}Write the parser.*\n {2}Which\?\n {2}1\. left\n {2}2\. right\n {2}→ matrix answer 01K1A0000000 "…"\n\napproval/,
  )
  await matrix(['answer', 'parser', '2'], { env })
  await matrix(['answer', childId, 'neither,', 'thanks'], { env })
  await matrix(['answer', childId.slice(0, 5).toLowerCase(), 'by its beginning'], { env })
  await matrix(['answer', 'root', 'both'], { env })
  expect(asked.filter(({ operation }) => operation === 'answerQuestion').map(({ body }) => body)).toEqual([
    { answer: 'right' },
    { answer: 'neither, thanks' },
    { answer: 'by its beginning' },
    { answer: 'both' },
  ])
  expect(await matrix(['answer', 'parser', '3'], { env })).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('There is no answer 3: 2 are offered.'),
  })
  expect(await matrix(['answer', 'nobody', 'x'], { env })).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('Nothing that waits belongs to “nobody”'),
  })
})

test('a diff is a patch that can be applied, and merging takes exactly what was shown', async () => {
  const { env, asked } = await fakeDaemon({
    ...here,
    getChanges: changes,
    mergeTask: { outcome: 'merged', commit: 'c'.repeat(40) },
  })

  expect((await matrix(['diff', 'parser'], { env })).stdout).toBe(
    'diff --git a/a.ts b/a.ts\n--- a/a.ts\n+++ b/a.ts\n@@ -1,1 +1,1 @@\n-old\n+new\nmxd/x → main  1 file, +1 −1\n',
  )
  expect((await matrix(['diff', 'parser', '--stat'], { env })).stdout).toMatch(/^M {2}a\.ts {2}\+1 −1\n/)
  expect(await matrix(['merge', 'parser'], { env })).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--yes'),
  })
  expect(await matrix(['merge', 'parser', '--yes', '--squash'], { env })).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/still at work: Write the parser\n✔ Merged as cccccccccccc\.\n/),
  })
  expect(asked.filter(({ operation }) => operation === 'mergeTask').map(({ body }) => body)).toEqual([
    { how: 'squash', expectedHead: 'b'.repeat(40), updateCheckout: false, acceptFlagged: [] },
  ])
})

test('a diff names the files that run by themselves, with the reasons', async () => {
  const { env } = await fakeDaemon({ ...here, getChanges: { ...changes, flagged } })

  for (const args of [
    ['diff', 'parser'],
    ['diff', 'parser', '--stat'],
  ])
    expect((await matrix(args, { env })).stdout).toContain(
      '  1 file that runs by itself:\n  ! .envrc: A shell can run this file.\n',
    )
})

test('files that run by themselves are merged with --accept-flagged, and not with --yes alone', async () => {
  const { env, asked } = await fakeDaemon({
    ...here,
    getChanges: { ...changes, flagged },
    mergeTask: { outcome: 'merged', commit: 'c'.repeat(40) },
  })
  const merges = () => asked.filter(({ operation }) => operation === 'mergeTask').map(({ body }) => body)

  expect(await matrix(['merge', 'parser', '--yes'], { env })).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/these files run by themselves: \.envrc[\s\S]*--accept-flagged/),
  })
  expect(merges()).toEqual([])
  expect(await matrix(['merge', 'parser', '--yes', '--accept-flagged'], { env })).toMatchObject({ code: 0 })
  expect(merges()).toMatchObject([{ expectedHead: 'b'.repeat(40), acceptFlagged: ['.envrc'] }])
})

test('a merge with conflicts fails and says what to do', async () => {
  const { env } = await fakeDaemon({
    ...here,
    getChanges: changes,
    mergeTask: { outcome: 'conflict', files: ['a.ts'] },
  })

  expect(await matrix(['merge', 'parser', '-y'], { env })).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/conflicts in a\.ts\.\n.*matrix send/),
  })
})

test('a secret is read from standard input and never shown', async () => {
  const entry: ConfigEntry = {
    key: 'authGroups.a.anthropicApiKey',
    value: null,
    isSecret: true,
    origin: 'global',
    file: '/c.json',
    line: 3,
    description: '',
    settableIn: ['global', 'local'],
  }
  const view: ConfigView = {
    entries: [entry, { ...entry, key: 'model', value: 'm1', isSecret: false, settableIn: ['global', 'repo', 'local'] }],
    problems: [],
  }
  const { env, asked } = await fakeDaemon({ ...here, readConfig: view, setConfig: view })

  const set = await matrix(['config', 'set', 'authGroups.a.anthropicApiKey'], { env, input: 'sk-secret\n' })
  expect(set).toMatchObject({ code: 0, stdout: 'Set authGroups.a.anthropicApiKey for all projects.\n' })
  await matrix(['config', 'set', 'model', 'm2'], { env })
  expect(asked.filter(({ operation }) => operation === 'setConfig')).toMatchObject([
    { params: { layer: 'global' }, body: { value: 'sk-secret' } },
    { params: { layer: 'local', key: 'model' }, query: { projectId }, body: { value: 'm2' } },
  ])
  expect((await matrix(['config', 'list', '--show-origin'], { env })).stdout).toBe(
    'authGroups.a.anthropicApiKey  (set, not shown)  global /c.json:3\nmodel                         m1                global /c.json:3\n',
  )
  expect((await matrix(['config', 'get', 'model'], { env })).stdout).toBe('m1\n')
  expect((await matrix(['config', 'get', 'nothing'], { env })).code).toBe(2)
})

test('settings for all projects can be read and set before there is a daemon', async () => {
  const folder = folderWith()
  const env = { MXD_DATA_DIR: folder }

  expect(await matrix(['config', 'set', 'port', '7500'], { env })).toMatchObject({ code: 0 })
  expect(await matrix(['auth', 'set', 'anthropic'], { env, input: 'sk-ant-1234567890\n' })).toMatchObject({ code: 0 })
  expect(JSON.parse(readFileSync(join(folder, 'config.json'), 'utf8'))).toEqual({
    port: 7500,
    authGroups: { anthropic: { anthropicApiKey: 'sk-ant-1234567890' } },
  })
  expect(statSync(join(folder, 'config.json')).mode & 0o777).toBe(0o600)
  expect((await matrix(['config', 'get', 'port'], { env })).stdout).toBe('7500\n')
  expect(await matrix(['config', 'set', 'model', 'm', '--layer', 'local'], { env })).toMatchObject({ code: 2 })
})

test('keys are shown and taken out before there is a daemon, and one that is not there is not taken out', async () => {
  const env = { MXD_DATA_DIR: folderWith() }

  expect(await matrix(['auth', 'status'], { env })).toMatchObject({
    code: 1,
    stdout: expect.stringContaining('No key is set'),
  })
  await matrix(['auth', 'set', 'anthropic'], { env, input: 'sk-ant-1234567890\n' })
  expect(await matrix(['auth', 'status'], { env })).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/Agents speak with(?:.*\n)*.*anthropicApiKey {2}\(set, not shown\)/),
  })
  expect(await matrix(['auth', 'remove', 'openai'], { env })).toMatchObject({
    code: 2,
    stderr: 'error: There is no key kept as openai.\n  There is anthropic.\n',
  })
  expect(await matrix(['auth', 'remove', 'anthropic'], { env })).toMatchObject({ code: 0 })
  expect((await matrix(['auth', 'status'], { env })).code).toBe(1)
})

test('a setting that is wrong is named with file and line', async () => {
  const problems: ConfigView['problems'] = [
    {
      layer: 'repo',
      file: '/r/.mxd/config.json',
      line: 4,
      key: 'port',
      message: 'port may not stand here',
      hint: 'Take it out.',
    },
  ]
  const { env } = await fakeDaemon({ ...here, readConfig: { entries: [], problems } })

  expect(await matrix(['config'], { env })).toMatchObject({
    code: 1,
    stderr: 'problem: /r/.mxd/config.json:4: port may not stand here\n  Take it out.\n',
  })
})

test('nothing is deleted without a yes', async () => {
  const { env, asked } = await fakeDaemon({ ...here, deleteTask: null })

  expect(await matrix(['task', 'delete', 'parser'], { env })).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('Nobody is there to say yes'),
  })
  expect(asked.some(({ operation }) => operation === 'deleteTask')).toBe(false)
  expect(await matrix(['task', 'delete', 'parser', '--yes'], { env })).toMatchObject({
    code: 0,
    stdout: 'Deleted “Write the parser”.\n',
  })
})

test('tasks are created, changed, moved and ordered', async () => {
  const { env, asked } = await fakeDaemon({ ...here, createTask: child, updateTask: child, reorderTasks: root })

  await matrix(
    ['task', 'create', 'Docs', '--parent', 'parser', '-d', '-', '--budget', '2.5', '--persistent', 'reset', '--draft'],
    { env, input: 'Write them' },
  )
  await matrix(['task', 'update', 'parser', '--title', 'Parser', '--budget', 'none'], { env })
  await matrix(['task', 'move', 'parser', 'root'], { env })
  await matrix(['task', 'order', 'root', 'parser'], { env })
  expect(asked.filter(({ operation }) => !operation.startsWith('list')).map(({ body }) => body)).toEqual([
    {
      parentId: childId,
      title: 'Docs',
      description: 'Write them',
      status: 'draft',
      budgetUsd: 2.5,
      persistent: 'reset',
    },
    { title: 'Parser', budgetUsd: null },
    { parentId: rootId },
    { children: [childId] },
  ])
  for (const wrong of [['--budget', 'much'], ['--status', 'great'], ['--persistent', 'maybe'], []])
    expect((await matrix(['task', 'update', 'parser', ...wrong], { env })).code, wrong.join(' ')).toBe(2)
})

test('a task is forked whole, or up to an event', async () => {
  const { env, asked } = await fakeDaemon({ ...here, forkTask: child })

  await matrix(['task', 'fork', 'root', 'parser'], { env })
  expect(await matrix(['task', 'fork', 'root', 'parser', '--up-to', '7'], { env })).toMatchObject({
    code: 0,
    stdout: '“Write the parser” knows what “Ship it” knew at event 7.\n',
  })
  expect(asked.filter(({ operation }) => operation === 'forkTask').map(({ body }) => body)).toEqual([
    { targetTaskId: childId },
    { targetTaskId: childId, upTo: 7 },
  ])
  for (const wrong of ['0', '1.5', 'last'])
    expect((await matrix(['task', 'fork', 'root', 'parser', '--up-to', wrong], { env })).code, wrong).toBe(2)
})

test('a conversation is taken back once somebody agrees', async () => {
  const { env, asked } = await fakeDaemon({ ...here, rewindTask: child })

  expect((await matrix(['task', 'rewind', 'parser', 'first', '--yes'], { env })).code).toBe(2)
  expect((await matrix(['task', 'rewind', 'parser', '7'], { env })).code).not.toBe(0)
  expect(asked.some(({ operation }) => operation === 'rewindTask')).toBe(false)
  expect(await matrix(['task', 'rewind', 'parser', '7', '--yes'], { env })).toMatchObject({
    code: 0,
    stdout: '“Write the parser” goes on after event 7 when it is sent a message.\n',
  })
  expect(asked.find(({ operation }) => operation === 'rewindTask')?.body).toEqual({ upTo: 7 })
})

test('costs are summed and named by their tasks', async () => {
  const one = {
    usd: 0.5,
    turns: 2,
    unpricedTurns: 0,
    workMs: 0,
    inputTokens: 100,
    outputTokens: 20,
    cacheReadTokens: 1000,
    cacheWriteTokens: 0,
  }
  const { env } = await fakeDaemon({
    ...here,
    readCosts: [
      { task: rootId, ...one },
      { task: childId, ...one },
    ],
  })

  expect((await matrix(['cost'], { env })).stdout).toBe(
    'task               cost  turns    in  cached  out\nShip it           $0.50      2  1.1k      1k   20\nWrite the parser  $0.50      2  1.1k      1k   20\ntogether          $1.00      4  2.2k      2k   40\n',
  )
  expect((await matrix(['cost', '--by', 'moon'], { env })).code).toBe(2)
})

test('what a script made up is told from what somebody pays', async () => {
  const one = {
    usd: 0.5,
    turns: 2,
    unpricedTurns: 0,
    workMs: 0,
    inputTokens: 100,
    outputTokens: 20,
    cacheReadTokens: 1000,
    cacheWriteTokens: 0,
  }
  const readCosts = ['some-model-simulated', 'some-model'].map((model) => ({ model, ...one }))
  const { env } = await fakeDaemon({ ...here, readCosts })

  expect((await matrix(['cost', '--by', 'model'], { env })).stdout).toMatch(
    /^together .*\n\$0\.50 of this was made up by a script, and nobody pays it\.\n$/m,
  )
})

test('a device is let in only by someone who sees its fingerprint', async () => {
  const device = {
    id: 'abcdef0123456789'.repeat(4),
    name: 'Phone',
    state: 'waiting' as const,
    enrolledAt: null,
    lastSeenAt: null,
    isThisOne: false,
  }
  let looked = 0
  const { env, asked } = await fakeDaemon({
    listDevices: () => (looked++ === 0 ? [] : [device]),
    openEnrolment: { code: 'ABCDE-FGHJK', expiresAt: '2999-01-01T00:00:00.000Z' },
    revokeDevice: null,
  })
  const { stdout, code } = await matrix(['device', 'add'], { env })

  expect(stdout).toContain('ABCDE-FGHJK')
  expect(stdout).toContain('abcd ef01 2345 6789')
  expect(code).toBe(2)
  expect(asked.at(-1)).toMatchObject({ operation: 'revokeDevice', params: { deviceId: device.id } })
})

test('whoever stops waiting for a device has interrupted it, and lets nobody in', async () => {
  const { env, asked } = await fakeDaemon({
    listDevices: [],
    openEnrolment: { code: 'ABCDE-FGHJK', expiresAt: '2999-01-01T00:00:00.000Z' },
  })

  expect(await matrix(['device', 'add'], { env, untilOutput: /Waiting/ })).toMatchObject({ code: 130, stderr: '' })
  expect(asked.some(({ operation }) => operation === 'confirmDevice')).toBe(false)
})

test('the service that starts the daemon names its program and its data', async () => {
  const home = folderWith()
  const { env } = await fakeDaemon({})
  const show = (...system: string[]) =>
    matrix(['daemon', 'install', '--print', ...system], { env: { ...env, HOME: home } })
  const [unit, agent] = [await show('systemd'), await show('launchd')]

  for (const { code, stdout } of [unit, agent, await show()]) {
    expect(code).toBe(0)
    expect(stdout).toContain('matrix-daemon.js')
    expect(stdout).toContain(env.MXD_DATA_DIR)
  }
  expect(unit.stdout).toContain('[Service]\nExecStart=')
  expect(agent.stdout).toContain('<key>ProgramArguments</key>')
  expect((await show('cron')).code).toBe(2)
})

test('the log of the daemon is shown from its end, with nothing in it that a terminal would obey', async () => {
  const { env } = await fakeDaemon({})
  writeFileSync(
    join(env.MXD_DATA_DIR, 'daemon.log'),
    `one\ntwo \u001B[2J\n${JSON.stringify({ level: 40, time: since, msg: 'Slow \u202E', ms: 7 })}\n`,
  )

  expect((await matrix(['daemon', 'logs', '-n', '2'], { env })).stdout).toBe(
    'two <U+001B>[2J\n2026-01-01 00:00:00  Slow <U+202E>  ms=7\n',
  )
})

test('what is different about a server is shown, and agreed to under the digest of exactly that', async () => {
  const { env, asked } = await fakeDaemon({ ...here, listTools: toolsView, answerDrift: toolsView })
  const unsure = await matrix(['tools', 'approve', 'notes'], { env })
  const sure = await matrix(['tools', 'approve', 'notes', '--digest', 'sha256:found', '--json'], { env })

  expect(unsure).toMatchObject({ code: 2, stderr: expect.stringContaining('--digest sha256:found') })
  expect(unsure.stderr).toContain('read changed\n  description\n  - Reads.\n  + Reads, and mails it.\n')
  expect([sure.code, JSON.parse(sure.stdout)]).toEqual([0, { alias: 'notes', surface: 'sha256:found', findings: [] }])
  expect(asked.filter(({ operation }) => operation === 'answerDrift')).toMatchObject([
    { params: { taskId: rootId, alias: 'notes' }, body: { decision: 'approve', surface: 'sha256:found' } },
  ])
})

test('a server about which nothing is different cannot be agreed to, but blocked', async () => {
  const { env, asked } = await fakeDaemon({ ...here, listTools: toolsView, answerDrift: toolsView })

  expect((await matrix(['tools', 'approve', 'other'], { env })).stderr).toContain('Nothing is known to be different')
  expect(await matrix(['tools', 'block', 'other'], { env })).toMatchObject({ code: 0 })
  expect(asked.at(-1)).toMatchObject({ operation: 'answerDrift', body: { decision: 'block' } })
})

const toolsView: ToolsView = {
  agent: 'default',
  manifestFile: null,
  allowedSideEffects: ['read'],
  sandbox: { isActive: true, reason: null },
  servers: [
    {
      alias: 'notes',
      transport: 'stdio',
      version: '1.0.0',
      digest: null,
      state: 'drifted',
      isLocked: true,
      isRunning: false,
      isSandboxed: true,
      problem: null,
      drift: null,
      drifted: {
        surface: 'sha256:found',
        obstacle: null,
        tools: [
          {
            tool: 'read',
            change: 'changed',
            sideEffect: 'read',
            fields: [{ field: 'description', approved: 'Reads.', found: 'Reads, and mails it.' }],
          },
        ],
      },
      tools: [],
    },
  ],
}

const call: NonNullable<Attention['approval']> = {
  uri: 'matrix://tool/mcp/mxd/bash@1.0.0',
  sideEffect: 'shell',
  input: { command: 'rm \u202Ex' },
  inputDigest: 'sha256:abcdef',
  reason: 'It is not on the list.',
  expiresAt: '2999-01-01T00:00:00.000Z',
  mayAllowAny: true,
}

const approval: Attention = {
  id: 'approval:c1',
  kind: 'approval',
  projectId,
  taskId: childId,
  taskTitle: 'Write the parser',
  text: 'Wants to use bash',
  since,
  approval: call,
}

const question: Attention = {
  id: `question:${childId}:q1`,
  kind: 'question',
  projectId,
  taskId: childId,
  taskTitle: 'Write the parser',
  text: 'Which?',
  since,
  options: ['left', 'right'],
}

const flagged = [{ path: '.envrc', reasons: ['A shell can run this file.'] }]

const changes: ChangesView = {
  branch: 'mxd/x',
  targetBranch: 'main',
  base: 'a'.repeat(40),
  head: 'b'.repeat(40),
  mergeBase: null,
  ahead: 1,
  behind: 0,
  files: [
    {
      path: 'a.ts',
      status: 'modified',
      additions: 1,
      deletions: 1,
      isBinary: false,
      isSubmodule: false,
      hunks: [{ oldStart: 1, oldLines: 1, newStart: 1, newLines: 1, heading: '', lines: ['-old', '+new'] }],
    },
  ],
  additions: 1,
  deletions: 1,
  conflicts: [],
  flagged: [],
  isTruncated: false,
  uncommitted: [],
}
