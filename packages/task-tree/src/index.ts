export type { BranchChanges, ChangesOptions, FileChange } from './branch-changes.ts'
export { checkBranchName, slugify, taskBranch } from './branch-name.ts'
export { type Disk, type DiskFile, nodeDisk } from './disk.ts'
export type { FlaggedFile } from './flagged-files.ts'
export { findGit, type Git, type GitOptions, type GitResult, hooksOff, runGit } from './git.ts'
export { checkGit } from './git-check.ts'
export { gitFolderOf, readGitRecord } from './git-folder-record.ts'
export { drifted, type GitStatus } from './git-sync.ts'
export type { Hunk } from './hunks.ts'
export { findIdentity } from './identity.ts'
export type { MergeOptions, MergeResult } from './merge.ts'
export {
  adoptDefinitions,
  type DefinitionProblem,
  type Definitions,
  openDefinitions,
  PersistentTask,
} from './persistent-task.ts'
export { openRepository, type Repository } from './repository.ts'
export { type SandboxGit, type SandboxProcess, type SandboxRun, sandboxEnvironment } from './sandbox-git.ts'
export type { SetupEffect, SetupPlace } from './setup.ts'
export type { Snapshot } from './snapshot.ts'
export {
  acknowledgeNotice,
  type Closed,
  checkEnding,
  closeTask,
  createTask,
  defaultMaxDepth,
  deleteTask,
  type Editor,
  recordTask,
  reorderTasks,
  resetTask,
  type TaskEdit,
  type TaskFacts,
  type TaskInput,
  updateTask,
} from './task-operations.ts'
export { createTree, openTree, type Plan, rebuildTree, type TaskTree, type TreeOptions } from './task-tree.ts'
export type { Notice, TreeChange } from './tree.ts'
export type { TreeView } from './tree-view.ts'
export type { CommitOptions, Committed, UpdateOptions } from './worktree-commit.ts'
export type { CreateOptions, Worktree } from './worktree-creation.ts'
export type { Removed, RemoveOptions } from './worktree-removal.ts'
export {
  type ListedWorktree,
  openWorktrees,
  type Recovered,
  type StaleWorktree,
  type WorktreeState,
  type Worktrees,
  type WorktreesOptions,
} from './worktrees.ts'
