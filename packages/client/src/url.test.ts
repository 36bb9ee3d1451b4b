import { expect, test } from 'vitest'
import { buildTarget } from './url.ts'

test('parameters of the path are put into it, the body is kept apart and the rest is the query', () => {
  const changes = buildTarget('getChanges', { projectId: 'P', taskId: 'T', hunks: true, since: 'a b' })
  const message = buildTarget('sendMessage', { projectId: 'P', taskId: 'T', body: { text: 'hi' } })

  expect(changes).toEqual({
    method: 'GET',
    path: '/api/projects/P/tasks/T/changes?hunks=true&since=a+b',
    body: undefined,
  })
  expect(message).toEqual({ method: 'POST', path: '/api/projects/P/tasks/T/message', body: { text: 'hi' } })
})

test('what is not given is left out', () => {
  expect(buildTarget('listAttention', { projectId: undefined }).path).toBe('/api/attention')
})

test('a parameter cannot leave its place in the path', () => {
  const { path } = buildTarget('getTask', { projectId: '../..', taskId: 'a/b?c#d\0' })

  expect(path).toBe('/api/projects/..%2F../tasks/a%2Fb%3Fc%23d%00')
})
