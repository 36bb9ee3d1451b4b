import {
  chmodSync,
  chownSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { giveTree, isReachable } from './identity.ts'
import { openSandbox } from './sandbox.ts'

const sandbox = await openSandbox({ mode: 'auto' })
const rootTest = test.runIf(process.getuid?.() === 0)
const boxedRootTest = test.runIf(process.getuid?.() === 0 && sandbox.isBoxing)
const someone = { uid: 65534, gid: 65534 }

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'matrix-identity-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

rootTest('a tree is given with its links, and not what they point to', () => {
  const tree = join(folder, 'tree')
  mkdirSync(join(tree, 'sub'), { recursive: true })
  writeFileSync(join(folder, 'outside'), '')
  writeFileSync(join(tree, 'sub/file'), '')
  symlinkSync(join(folder, 'outside'), join(tree, 'link'))
  symlinkSync(folder, join(tree, 'up'))
  giveTree(tree, someone)

  for (const path of ['', 'sub', 'sub/file', 'link', 'up']) expect(lstatSync(join(tree, path)).uid).toBe(65534)
  expect(statSync(join(folder, 'outside')).uid).toBe(0)
  expect(statSync(folder).uid).toBe(0)
})

rootTest('what root has written since is given too, and what is somebody else’s is left alone', () => {
  giveTree(folder, someone)
  writeFileSync(join(folder, 'later'), '')
  writeFileSync(join(folder, 'theirs'), '')
  chownSync(join(folder, 'theirs'), 1234, 1234)
  giveTree(folder, someone)

  expect(statSync(join(folder, 'later')).uid).toBe(65534)
  expect(statSync(join(folder, 'theirs')).uid).toBe(1234)
})

rootTest('a file that has another name elsewhere is not given away', () => {
  const tree = join(folder, 'tree')
  mkdirSync(tree)
  writeFileSync(join(folder, 'outside'), '')
  linkSync(join(folder, 'outside'), join(tree, 'inside'))
  giveTree(tree, someone)

  expect(statSync(join(folder, 'outside')).uid).toBe(0)
})

rootTest('a path counts as reachable if every folder on the way lets one through', () => {
  const file = join(folder, 'file')
  writeFileSync(file, '')
  expect(isReachable(file, someone)).toBe(false)
  chmodSync(folder, 0o711)
  expect(isReachable(file, someone)).toBe(true)
  chmodSync(file, 0o600)
  expect(isReachable(file, someone)).toBe(false)
})

boxedRootTest('a script that only root may read is refused by name, wherever on the way it is closed', async () => {
  chmodSync(folder, 0o755)
  const script = join(folder, 'sub', 'server.cjs')
  mkdirSync(join(folder, 'sub'))
  writeFileSync(script, 'process.exit(0)')
  const launch = () =>
    sandbox.spawn({ program: process.execPath, args: [script], policy: { sideEffects: [], readable: [folder] } })

  await expect((await launch()).exited).resolves.toMatchObject({ code: 0 })
  for (const closed of [script, join(folder, 'sub'), folder]) {
    chmodSync(closed, 0o700)
    await expect(launch()).rejects.toMatchObject({
      code: 'SANDBOX_REFUSED',
      message: `Matrix runs as root, and its boxes as user 65534, who may not read ${closed}.`,
      hint: expect.stringContaining(`chmod -R go+rX ${closed}`),
    })
    chmodSync(closed, 0o755)
  }
})

boxedRootTest('a worktree that still belongs to root is refused with the command that gives it away', async () => {
  const launch = (effect: 'read' | 'write') =>
    sandbox.spawn({ program: process.execPath, policy: { sideEffects: [effect], worktree: folder } })

  await expect(launch('read')).rejects.toMatchObject({ code: 'SANDBOX_REFUSED' })
  chmodSync(folder, 0o755)
  await expect(launch('write')).rejects.toMatchObject({
    message: `Matrix runs as root, and its boxes as user 65534, who may not write ${folder}.`,
    hint: expect.stringContaining(`chown -R 65534:65534 ${folder}`),
  })
  await expect((await launch('read')).stop()).resolves.toMatchObject({ code: 0 })
})

boxedRootTest('a worktree below a home that only root can enter is worked in, and the home stays closed', async () => {
  const home = mkdtempSync(join(homedir(), '.matrix-identity-'))
  try {
    const worktree = join(home, 'worktree')
    mkdirSync(worktree)
    writeFileSync(join(home, 'secret'), 'canary')
    giveTree(worktree, someone)
    const source = `
      const fs = require('node:fs')
      fs.writeFileSync('written', 'from the box')
      const attempt = (path) => { try { return fs.readFileSync(path, 'utf8') } catch (error) { return error.code } }
      console.log(process.cwd(), attempt(${JSON.stringify(join(home, 'secret'))}), fs.readdirSync(${JSON.stringify(home)}))
    `
    const running = await sandbox.spawn({
      program: process.execPath,
      args: ['-e', source],
      policy: { sideEffects: ['read', 'write'], worktree },
    })
    const output = String(Buffer.concat(await running.stdout.toArray()))

    expect(output).toBe(`${worktree} ENOENT [ 'worktree' ]\n`)
    expect(statSync(join(worktree, 'written')).uid).toBe(65534)
  } finally {
    rmSync(home, { recursive: true })
  }
})
