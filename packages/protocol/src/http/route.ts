import * as z from 'zod'

export type Method = 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE'

/** Who may ask: anyone who reaches the port, anyone who has signed in, or only a program with the daemon's own token. */
export type Access = 'open' | 'signed-in' | 'local'

/** One operation of the daemon. The same record validates the request, types the client and describes the API. */
export type Route = {
  method: Method
  /** `:name` stands for the parameter of that name. */
  path: string
  tag: string
  summary: string
  access: Access
  params: z.ZodObject
  query: z.ZodObject
  body: z.ZodType
  response: z.ZodType
}

type Parts = Partial<Pick<Route, 'params' | 'query' | 'body' | 'response' | 'access'>>

type Defined<P extends Parts> = {
  params: P['params'] extends z.ZodObject ? P['params'] : z.ZodObject<Record<never, never>>
  query: P['query'] extends z.ZodObject ? P['query'] : z.ZodObject<Record<never, never>>
  body: P['body'] extends z.ZodType ? P['body'] : z.ZodUndefined
  response: P['response'] extends z.ZodType ? P['response'] : z.ZodNull
} & Pick<Route, 'method' | 'path' | 'tag' | 'summary' | 'access'>

/** Describes a route: `route('GET /tasks/:taskId', 'tasks', 'One task', { … })`. */
export function route<P extends Parts>(
  place: `${Method} /${string}`,
  tag: string,
  summary: string,
  parts: P,
): Defined<P> {
  const [method, path] = place.split(' ') as [Method, string]
  const { params = z.object({}), query = z.object({}), body = z.undefined(), response = z.null() } = parts
  return {
    method,
    path,
    tag,
    summary,
    access: parts.access ?? 'signed-in',
    params,
    query,
    body,
    response,
  } as Defined<P>
}

/** What a caller gives: parameters, query and body as they are written, before defaults are filled in. */
export type RouteInput<R extends Route> = FieldsOf<R['params']> &
  FieldsOf<R['query']> &
  (z.input<R['body']> extends undefined ? Record<never, never> : { body: z.input<R['body']> })

/** An object without fields would otherwise forbid those of the parts beside it. */
type FieldsOf<S extends z.ZodObject> = keyof S['shape'] extends never ? Record<never, never> : z.input<S>

/** What the daemon is given to work with. */
export type RouteRequest<R extends Route> = {
  params: z.output<R['params']>
  query: z.output<R['query']>
  body: z.output<R['body']>
}

export type RouteOutput<R extends Route> = z.output<R['response']>
