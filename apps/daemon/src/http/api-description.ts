import { Failure, FeedQuery, Frame, feedPath, type Route, routes } from '@matrix/protocol/http'
import type { FastifyInstance } from 'fastify'
import * as z from 'zod'

const feed = {
  method: 'GET',
  path: feedPath,
  tag: 'events',
  summary: 'Everything that happens, as server-sent events; each one is a frame',
  access: 'signed-in',
  params: z.object({}),
  query: FeedQuery,
  body: z.undefined(),
  response: Frame,
} satisfies Route

const all: Record<string, Route> = { ...routes, events: feed }

/** The contract as OpenAPI, and as a page for people. Neither tells anything about what runs here. */
export function addApiDescription(app: FastifyInstance, { version }: { version: string }): void {
  let document: string | undefined
  app.get('/api/openapi.json', { config: { access: 'open' } }, (_, reply) => {
    // Converting all schemas takes a moment that no start should pay for.
    document ??= JSON.stringify(describeApi(version))
    return reply.type('application/json').send(document)
  })
  app.get('/api/docs', { config: { access: 'open' } }, (_, reply) => reply.type('text/html').send(apiPage(version)))
}

function describeApi(version: string): Record<string, unknown> {
  const paths: Record<string, Record<string, unknown>> = {}
  for (const [operation, route] of Object.entries(all)) {
    const path = route.path.replace(/:(\w+)/g, '{$1}')
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: describeOperation(operation, route) }
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Matrix', version, description: 'The daemon of Matrix.' },
    paths,
    components: {
      schemas: { Failure: toSchema(Failure, 'output') },
      securitySchemes: {
        token: {
          type: 'http',
          scheme: 'bearer',
          description: "The daemon's own token, for programs of the same user.",
        },
        session: {
          type: 'apiKey',
          in: 'header',
          name: 'X-Matrix-CSRF',
          description: 'Together with the cookie of a sign-in.',
        },
      },
    },
  }
}

function describeOperation(operationId: string, { tag, summary, access, params, query, body, response }: Route) {
  const security = { open: [], 'signed-in': [{ session: [] }, { token: [] }], local: [{ token: [] }] }[access]
  const isStream = operationId === 'events'
  return {
    operationId,
    tags: [tag],
    summary,
    security,
    parameters: [...describeParameters(params, 'path'), ...describeParameters(query, 'query')],
    ...(body instanceof z.ZodUndefined
      ? {}
      : { requestBody: { required: true, content: { 'application/json': { schema: toSchema(body, 'input') } } } }),
    responses: {
      ...(response instanceof z.ZodNull
        ? { 204: { description: 'Done.' } }
        : {
            200: {
              description: 'What was asked for.',
              content: {
                [isStream ? 'text/event-stream' : 'application/json']: { schema: toSchema(response, 'output') },
              },
            },
          }),
      default: {
        description: 'What went wrong, and what to do next.',
        content: { 'application/json': { schema: { $ref: '#/components/schemas/Failure' } } },
      },
    },
  }
}

function describeParameters(object: z.ZodObject, place: 'path' | 'query') {
  return Object.entries(object.shape).map(([name, schema]) => ({
    name,
    in: place,
    required: place === 'path' || !schema.safeParse(undefined).success,
    schema: toSchema(schema, 'input'),
  }))
}

function toSchema(schema: z.core.$ZodType, io: 'input' | 'output') {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any' })
  return rest
}

function apiPage(version: string): string {
  const tags = [...new Set(Object.values(all).map(({ tag }) => tag))]
  const sections = tags.map((tag) => {
    const rows = Object.entries(all)
      .filter(([, route]) => route.tag === tag)
      .map(
        ([operation, { method, path, summary, access }]) =>
          `<tr><td><code>${method}</code></td><td><code>${path}</code></td><td><code>${operation}</code></td><td>${summary}</td><td>${access}</td></tr>`,
      )
    return `<h2>${tag}</h2><table><tbody>${rows.join('')}</tbody></table>`
  })
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>Matrix ${version}: HTTP API</title>
<style>body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem}table{border-collapse:collapse;width:100%}td{border-top:1px solid #8884;padding:.3rem .6rem;text-align:left}:root{color-scheme:light dark}</style>
<h1>Matrix ${version}: HTTP API</h1>
<p>The same contract with all shapes: <a href="/api/openapi.json">OpenAPI 3.1</a>. Every failure is answered with <code>code</code>, <code>message</code> and <code>hint</code>.</p>
${sections.join('\n')}
</html>`
}
