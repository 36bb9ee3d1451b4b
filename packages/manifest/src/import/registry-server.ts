import type { Problem } from '../document/finding.ts'
import { type JsonRecord, own, ownText } from '../document/json-record.ts'
import type { Path } from '../document/source-text.ts'
import { isRegistryAnswer } from '../format.ts'
import { findTransport, sseOnly } from './client-config.ts'
import { type Found, type FoundLaunch, type FoundServer, leftOut } from './manifest-draft.ts'
import { fillVariables, listField, textField } from './registry-input.ts'
import { launchPackage, readNamedInputs } from './registry-package.ts'

type Offer = { kind: string; path: Path; launch: FoundLaunch; digest?: string | undefined; problems: Problem[] }

/** A registry's `server.json`, alone or as its API answers: the first way to run each server that Matrix can take. */
export function readRegistry(value: JsonRecord): Found {
  const found = findServers(value).map(({ server, path }) => readServer(server, path))
  return {
    servers: found.flatMap(({ servers }) => servers),
    problems: found.flatMap(({ problems }) => problems),
  }
}

function findServers(value: JsonRecord): { server: unknown; path: Path }[] {
  if (isRegistryAnswer(value)) return [{ server: own(value, 'server'), path: ['server'] }]
  const list = own(value, 'servers')
  if (!Array.isArray(list)) return [{ server: value, path: [] }]
  return list.map((answer, index) => ({ server: own(answer, 'server'), path: ['servers', index, 'server'] }))
}

function readServer(server: unknown, path: Path): Found {
  const name = ownText(server, 'name') ?? 'server'
  const packages = listField(server, 'packages', path)
  const remotes = listField(server, 'remotes', path)
  const offers = [
    ...packages.flatMap(({ item, path: at }) => packageOffer(item, at)),
    ...remotes.flatMap(({ item, path: at }) => remoteOffer(item, at)),
  ].sort((a, b) => Number(a.kind === 'mcpb') - Number(b.kind === 'mcpb'))

  const [offer, ...others] = offers
  if (!offer) return { servers: [], problems: [noOffer(name, [...packages, ...remotes], path)] }
  const version = ownText(server, 'version') ?? ownText(own(server, 'version_detail'), 'version')
  const found: FoundServer = {
    name,
    path: [...path, 'name'],
    launch: offer.launch,
    version,
    package_digest: offer.digest,
  }
  return {
    servers: [found],
    problems: [...offer.problems, ...otherOffers(name, offer, others), ...status(server, path)],
  }
}

function packageOffer(item: JsonRecord, path: Path): Offer[] {
  const transport = own(own(item, 'transport'), 'type')
  // A package that listens instead of speaking over its pipes would have to be started by someone else.
  if (transport !== undefined && findTransport(transport) !== 'stdio') return []
  const kind = textField(item, 'registryType') ?? textField(item, 'registryName') ?? ''
  const problems: Problem[] = []
  const launch = launchPackage(kind, item, path, problems)
  const digest = textField(item, 'fileSha256')
  return launch
    ? [
        {
          kind,
          path,
          launch,
          problems,
          digest: digest && /^[0-9a-f]{64}$/.test(digest) ? `sha256:${digest}` : undefined,
        },
      ]
    : []
}

function remoteOffer(item: JsonRecord, path: Path): Offer[] {
  const url = ownText(item, 'url')
  if (url === undefined || findTransport(remoteType(item)) !== 'http') return []
  const problems: Problem[] = []
  const headers = readNamedInputs(item, 'headers', 'own', path, problems)
  const endpoint = { template: fillVariables(url, item), path: [...path, 'url'] }
  return [{ kind: 'streamable HTTP', path, launch: { transport: 'http', endpoint, headers }, problems }]
}

function remoteType(item: JsonRecord): unknown {
  return own(item, 'type') ?? own(item, 'transport_type')
}

function noOffer(name: string, ways: { item: JsonRecord; path: Path }[], path: Path): Problem {
  const sse = ways.find(({ item }) => findTransport(remoteType(item)) === 'sse')
  if (sse) return sseOnly(name, [...sse.path, own(sse.item, 'type') === undefined ? 'transport_type' : 'type'])
  const message = `"${name}" names no package that Matrix can start over stdio and no streamable HTTP address.`
  return { rule: 'MX003', path: ways[0]?.path ?? path, message }
}

function otherOffers(name: string, { kind, path }: Offer, others: Offer[]): Problem[] {
  if (others.length === 0) return []
  const kinds = [...new Set(others.map((each) => each.kind))].join(', ')
  const message = `"${name}" is also offered as ${kinds}; the draft uses ${kind}.`
  return [leftOut(message, path, 'Edit the draft if you want another.')]
}

function status(server: unknown, path: Path): Problem[] {
  const stated = ownText(server, 'status')
  if (stated !== 'deprecated' && stated !== 'deleted') return []
  const message = `The registry says that this server is ${stated}.`
  return [{ rule: 'MX029', severity: 'warning', path: [...path, 'status'], message, fix: 'Look for its successor.' }]
}
