import { isRecord, type JsonRecord, own, scalarText } from '../document/json-record.ts'
import type { Path } from '../document/source-text.ts'
import { isSecretName } from '../manifest/credential.ts'
import { type Gap, parseTemplate, type Template, variableName } from './template.ts'

/** A field under its name of today or, as the registry wrote until September 2025, in snake case; with the key it really has. */
export function field(value: unknown, name: string): { value: unknown; key: string } {
  const old = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
  const key = own(value, name) === undefined && own(value, old) !== undefined ? old : name
  return { value: own(value, key), key }
}

export function textField(value: unknown, name: string): string | undefined {
  return scalarText(field(value, name).value)
}

export function listField(value: unknown, name: string, path: Path): { item: JsonRecord; path: Path }[] {
  const { value: list, key } = field(value, name)
  if (!Array.isArray(list)) return []
  return list.flatMap((item: unknown, index) => (isRecord(item) ? [{ item, path: [...path, key, index] }] : []))
}

/** What a registry's input becomes: its value or default, a gap where a person must give one, nothing where it is optional. */
export function inputTemplate(
  input: JsonRecord,
  label: string,
  naming: Gap['naming'],
  path: Path,
): Template | undefined {
  const gap: Gap = { key: `input ${path.join(' ')}`, variable: variableName(label), naming }
  const isSecret = field(input, 'isSecret').value === true || isSecretName(label)
  const value = textField(input, 'value')
  const filled = value === undefined ? undefined : fillVariables(value, input)
  if (filled?.some((part) => typeof part !== 'string') || (filled && !isSecret)) return filled
  const fallback = textField(input, 'default')
  if (fallback !== undefined && !isSecret) return [fallback]
  // A published value or default of a secret is no secret, but says that one belongs here.
  const isWanted = isSecret && (value !== undefined || fallback !== undefined)
  return isWanted || field(input, 'isRequired').value === true ? [gap] : undefined
}

/** `{name}` in a value is one of the input's variables; other braces stand for themselves. */
export function fillVariables(text: string, input: JsonRecord): Template {
  const variables = own(input, 'variables')
  return parseTemplate(text, /\{([\w.-]+)\}/, (name) => {
    const variable = own(variables, name)
    if (!isRecord(variable)) return undefined
    const gap: Gap = { key: `variable ${name}`, variable: variableName(name), naming: 'own' }
    const isSecret = field(variable, 'isSecret').value === true || isSecretName(name)
    const given = textField(variable, 'value') ?? textField(variable, 'default')
    return given === undefined || isSecret ? [gap] : [given]
  })
}
