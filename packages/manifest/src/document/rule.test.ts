import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { findRule, type Rule, rules } from './rule.ts'

test('every rule says in sentences why it exists and how to satisfy it', () => {
  for (const [id, rule] of Object.entries(rules)) {
    expect(id).toMatch(/^MX\d{3}$/)
    expect(rule.why, id).toMatch(/[.]$/)
    expect(rule.fix, id).toMatch(/[.]$/)
  }
})

test('every rule has its page in the documentation', async () => {
  for (const [id, rule] of Object.entries<Rule>(rules))
    await expect(page(id, rule)).toMatchFileSnapshot(`../../../../docs/rules/${id}.md`)
})

test('the list of rules names them all', () => {
  const list = readFileSync(new URL('../../../../docs/rules/README.md', import.meta.url), 'utf8')

  for (const [id, { title }] of Object.entries(rules)) expect(list).toContain(`| [${id}](${id}.md) | ${title} |`)
})

test('each of the six locked design rules is enforced by some rule', () => {
  const locked = new Set(Object.values<Rule>(rules).map((rule) => rule.locked))

  expect([...locked].filter(Boolean).sort()).toEqual(['Q15', 'Q17', 'Q18', 'Q19', 'Q21', 'Q22'])
})

test('names of built-in properties are not rules', () => {
  for (const id of ['constructor', '__proto__', 'toString', 'MX000', '']) expect(findRule(id)).toBeUndefined()
})

function page(id: string, { title, severity, locked, why, fix, wrong, right }: Rule): string {
  const rank = locked ? `${severity}, locked design rule ${locked}` : severity
  return `# ${id}: ${title}\n\n*${rank}*\n\n${why}\n\n**Fix:** ${fix}\n\n| wrong | right |\n| --- | --- |\n| ${cell(wrong)} | ${cell(right)} |\n`
}

function cell(text: string): string {
  return `\`${text.replaceAll('|', '\\|').replaceAll('`', '')}\``
}
