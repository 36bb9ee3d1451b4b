import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Manifest, Server, SideEffect } from '../manifest/manifest.ts'
import type { Policy } from '../policy/policy.ts'
import { attenuate, type Grant } from './attenuation.ts'
import { digest, docs, fs, mxd } from './servers.testing.ts'

test('every grant is allowed to itself', () => {
  fc.assert(
    fc.property(grants(), (grant) => {
      expect(attenuate(grant, grant)).toEqual({ allowed: true })
    }),
  )
})

test('what is allowed to a child of a child is allowed to the parent', () => {
  fc.assert(
    fc.property(relatives(), ([a, b, c]) => {
      fc.pre(attenuate(a, b).allowed && attenuate(b, c).allowed)
      expect(attenuate(a, c)).toEqual({ allowed: true })
    }),
    { numRuns: 200 },
  )
  fc.assert(
    fc.property(grants(), fc.array(fc.nat()), fc.array(fc.nat()), (a, first, second) => {
      const b = first.reduce(removeOne, a)
      const c = second.reduce(removeOne, b)
      expect(attenuate(a, c)).toEqual({ allowed: true })
    }),
  )
})

test('removing anything from an allowed child leaves it allowed', () => {
  fc.assert(
    fc.property(relatives(), fc.nat(), ([a, b], pick) => {
      fc.pre(attenuate(a, b).allowed)
      expect(attenuate(a, removeOne(b, pick))).toEqual({ allowed: true })
    }),
    { numRuns: 200 },
  )
})

test('adding any tool, effect or server makes a child not allowed', () => {
  fc.assert(
    fc.property(grants(), fc.nat(), (grant, pick) => {
      const { servers, allowed_side_effects: allowed } = grant.manifest
      const missing = effects.filter((effect) => !allowed.includes(effect))
      const index = pick % Math.max(servers.length, 1)
      const tool = { name: 'extra', side_effect_class: effects[pick % 4] ?? 'read' }
      const more: Partial<Manifest>[] = [
        ...missing.map((effect) => ({ allowed_side_effects: [...allowed, effect] })),
        { servers: [...servers, { ...fs, alias: 'extra' }] },
        ...servers.slice(0, 1).map(() => ({
          servers: servers.map(
            (server, at): Server => (at === index ? { ...server, tools: [...server.tools, tool] } : server),
          ),
        })),
      ]
      for (const change of more)
        expect(attenuate(grant, { ...grant, manifest: { ...grant.manifest, ...change } }).allowed).toBe(false)
    }),
  )
})

const effects: SideEffect[] = ['read', 'write', 'network', 'shell', 'chain']

function policyOf(change: Partial<Policy>): Policy {
  return { tools: ['*'], allowedTools: [], toolsSettings: {}, resources: [], hooks: {}, ...change }
}

/** Grants from few enough parts that one often lies within another. */
function grants(): fc.Arbitrary<Grant> {
  const part = <Item>(items: Item[]) => fc.subarray(items)
  const settings = fc.record(
    {
      allowedPaths: part(['src', 'src/a', '/']),
      deniedPaths: part(['keys']),
      allowedHosts: part(['*.example.org', 'api.example.org']),
      denyByDefault: fc.boolean(),
      autoAllowReadonly: fc.boolean(),
      own: fc.nat(1),
    },
    { requiredKeys: [] },
  )
  const policy = fc.record({
    tools: fc.oneof(fc.constant<string[]>(['*']), part(['@fs', '@fs/read', 'bash', '@docs'])),
    allowedTools: part(['@fs', '@fs/*', 'bash', '@*/query']),
    toolsSettings: fc.dictionary(fc.constantFrom('@fs/read', 'bash'), settings, { maxKeys: 2 }),
    resources: part(['file://docs', 'file://docs/a.md']),
    hooks: fc.record(
      { preToolUse: part([{ command: 'guard' }]), stop: part([{ command: 'bye' }]) },
      { requiredKeys: [] },
    ),
  })
  const server = fc.constantFrom<Server>(
    fs,
    mxd,
    docs,
    { ...fs, version: '1.0.1' },
    { ...docs, package_digest: digest },
  )
  return fc.record({
    manifest: fc.record({
      schema_version: fc.constant(1 as const),
      agent: fc.constant('matrix://agent/x'),
      allowed_side_effects: part(effects),
      servers: fc.uniqueArray(server, { selector: ({ alias }) => alias }),
      native_tools: part([{ namespace: 'argus' as const, name: 'scan', version: '1', digest }]),
    }),
    policy: fc.option(policy, { nil: undefined }),
  })
}

/** Three grants that differ in a few parts only, each from one of two others, so that they often lie within each other. */
function relatives(): fc.Arbitrary<[Grant, Grant, Grant]> {
  const choice = fc
    .uniqueArray(fc.nat(7), { maxLength: 2 })
    .map((parts) => Array.from({ length: 8 }, (_, part) => parts.includes(part)))
  return fc.tuple(grants(), grants(), choice, choice, choice).map(([one, other, ...choices]) => {
    const mix = (from: readonly boolean[]): Grant => {
      const manifests = from.map((isOther) => (isOther ? other : one).manifest)
      const policies = from.map((isOther) => (isOther ? other : one).policy ?? policyOf({}))
      const [first, second, third] = manifests
      const mixed = {
        ...one.manifest,
        ...first,
        ...(second && { servers: second.servers }),
        ...(third && { native_tools: third.native_tools ?? [] }),
      }
      const [, , , tools, allowed, settings, resources, hooks] = policies
      return {
        manifest: mixed,
        policy: policyOf({
          ...(tools && { tools: tools.tools }),
          ...(allowed && { allowedTools: allowed.allowedTools }),
          ...(settings && { toolsSettings: settings.toolsSettings }),
          ...(resources && { resources: resources.resources }),
          ...(hooks && { hooks: hooks.hooks }),
        }),
      }
    }
    return choices.map(mix) as [Grant, Grant, Grant]
  })
}

/** One server, tool, effect, native tool or entry of a list less, as the number says. */
function removeOne({ manifest: from, policy }: Grant, pick: number): Grant {
  const without = <Item>(items: readonly Item[]) =>
    items.filter((_, index) => index !== pick % Math.max(items.length, 1))
  const changes: (() => Grant)[] = [
    () => ({ policy, manifest: { ...from, servers: without(from.servers) } }),
    () => ({
      policy,
      manifest: { ...from, servers: from.servers.map((server) => ({ ...server, tools: without(server.tools) })) },
    }),
    () => ({ policy, manifest: { ...from, allowed_side_effects: without(from.allowed_side_effects) } }),
    () => ({ policy, manifest: { ...from, native_tools: without(from.native_tools ?? []) } }),
    () => ({ manifest: from, policy: policy && { ...policy, allowedTools: without(policy.allowedTools) } }),
    () => ({ manifest: from, policy: policy && { ...policy, tools: without(policy.tools) } }),
    () => ({ manifest: from, policy: policy && { ...policy, resources: without(policy.resources) } }),
  ]
  return changes[pick % changes.length]?.() ?? { manifest: from, policy }
}
