/**
 * Programs that keep toolchains apart from where PATH finds them, with the variable that says where. `folder` is where in
 * the home they look without it: a sandbox has another home, so it is told.
 */
export type Manager = {
  variable: string
  folder?: string /** Uses the folder from wherever it is installed. */
  program?: string
}

export const managers: readonly Manager[] = [
  { variable: 'RUSTUP_HOME', folder: '.rustup', program: 'rustup' },
  { variable: 'PYENV_ROOT', folder: '.pyenv', program: 'pyenv' },
  { variable: 'RBENV_ROOT', folder: '.rbenv', program: 'rbenv' },
  { variable: 'NODENV_ROOT', folder: '.nodenv', program: 'nodenv' },
  { variable: 'GOENV_ROOT', folder: '.goenv', program: 'goenv' },
  { variable: 'JENV_ROOT', folder: '.jenv', program: 'jenv' },
  { variable: 'NVM_DIR', folder: '.nvm' },
  { variable: 'FNM_DIR', folder: '.local/share/fnm', program: 'fnm' },
  { variable: 'VOLTA_HOME', folder: '.volta' },
  { variable: 'ASDF_DATA_DIR', folder: '.asdf', program: 'asdf' },
  { variable: 'ASDF_DIR' },
  { variable: 'MISE_DATA_DIR', folder: '.local/share/mise', program: 'mise' },
  { variable: 'SDKMAN_DIR', folder: '.sdkman' },
  { variable: 'DENO_INSTALL', folder: '.deno' },
  { variable: 'BUN_INSTALL', folder: '.bun' },
  { variable: 'DOTNET_ROOT', folder: '.dotnet' },
  { variable: 'GOROOT' },
  { variable: 'JAVA_HOME' },
  { variable: 'M2_HOME' },
  { variable: 'MAVEN_HOME' },
  { variable: 'GRADLE_HOME' },
  { variable: 'ANDROID_HOME' },
  { variable: 'ANDROID_SDK_ROOT' },
  { variable: 'ANDROID_NDK_HOME' },
  { variable: 'CONDA_PREFIX' },
  { variable: 'VIRTUAL_ENV' },
  { variable: 'HOMEBREW_PREFIX' },
  { variable: 'HOMEBREW_CELLAR' },
  { variable: 'HOMEBREW_REPOSITORY' },
  { variable: 'CUDA_HOME' },
  { variable: 'FLUTTER_ROOT' },
]
