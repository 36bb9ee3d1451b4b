import { type Finding, formatToolUri, type Manifest, parseToolUri, rules, verifyDocument } from '@matrix/manifest'

function check(holds: boolean, otherwise: string): void {
  if (!holds) throw new Error(otherwise)
}

async function find(manifest: object): Promise<Finding[]> {
  return (await verifyDocument(new TextEncoder().encode(JSON.stringify(manifest)))).findings
}

const uri = 'matrix://tool/mcp/fs/read_file@1.0.0'
const manifest: Manifest = { schema_version: 1, agent: 'matrix://agent/guest', servers: [], allowed_side_effects: [] }
const { allowed_side_effects, ...incomplete } = manifest
const [finding] = await find(incomplete)

check(formatToolUri(parseToolUri(uri)) === uri, 'A URI does not survive being read.')
check(
  (await find(manifest)).every(({ severity }) => severity !== 'error'),
  'A manifest that allows nothing is refused.',
)
check(finding !== undefined && finding.rule in rules, 'A manifest without allowed_side_effects is accepted.')
