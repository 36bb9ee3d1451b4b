import { type Ecosystem, ecosystems } from './ecosystem.ts'
import { type Folder, findFolders, findLanguages, openFolder, type ProjectFiles } from './project-files.ts'
import type { Step } from './setup-step.ts'

/** What was found in a project, and the setup that follows from it. */
export type Detection = {
  languages: string[]
  /** Package managers, each with the file that names it and where. */
  found: { ecosystem: string; because: string; folder: string }[]
  testCommand: string | null
  /** Null where a fresh checkout needs nothing. */
  script: string | null
  /** What is not proposed, and why. */
  notes: string[]
}

type Found = Step & { folder: string }

/** Detects by files alone: nothing of the project is run. */
export async function detectSetup(files: ProjectFiles): Promise<Detection> {
  const found = (await Promise.all(ecosystems.map((each) => stepsOf(files, each)))).flat()
  const usable = found.filter(({ needs, commands }) => commands.length > 0 && files.hasProgram(needs))
  const missing = found.filter(({ needs, commands }) => commands.length > 0 && !files.hasProgram(needs))
  return {
    languages: findLanguages(files),
    found: found.map(({ ecosystem, because, folder }) => ({ ecosystem, because, folder })),
    testCommand: found.find(({ test }) => test)?.test ?? (await makeTest(openFolder(files, ''))) ?? null,
    script: usable.length > 0 ? scriptOf(usable) : null,
    notes: [
      ...missing.map(({ because, needs }) => `${because} needs ${needs}, which is not installed: left out.`),
      ...(files.paths.includes('.gitmodules') ? ['Submodules are not checked out in worktrees.'] : []),
    ],
  }
}

async function stepsOf(files: ProjectFiles, { isMarker, step }: Ecosystem): Promise<Found[]> {
  const steps: Found[] = []
  for (const folder of findFolders(files, isMarker)) {
    const found = await step(folder)
    if (found) steps.push({ ...found, folder: folder.path })
  }
  return steps
}

/** What `make` would check, for projects that no package manager tests. */
async function makeTest(root: Folder): Promise<string | undefined> {
  const name = ['GNUmakefile', 'Makefile', 'makefile'].find(root.has)
  const rules = name ? ((await root.read(name)) ?? '') : ''
  const target = ['check', 'test'].find((each) => new RegExp(`^${each}\\s*:(?!=)`, 'm').test(rules))
  if (target) return `make ${target}`
  return root.has('configure') || root.has('configure.ac') ? 'make check' : undefined
}

function scriptOf(steps: readonly Found[]): string {
  const lines = steps.flatMap(({ folder, because, commands }) => [
    '',
    `# ${folder === '' ? because : `${folder}/${because}`}`,
    ...(folder === '' ? commands : commands.map((command) => `(cd ${quote(folder)} && ${command})`)),
  ])
  return ['#!/bin/sh', '# Makes a fresh worktree ready to work in.', 'set -eux', ...lines, ''].join('\n')
}

function quote(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`
}
