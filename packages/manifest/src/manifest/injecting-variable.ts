/**
 * What a variable of the environment does to a program that never asked for it. `search` finds programs, `paths` libraries and modules;
 * `file` names one file to run; `options` are options of a runtime.
 */
export type VariableKind = 'code' | 'paths' | 'search' | 'file' | 'nodeOptions' | 'options'

const kinds: Record<string, VariableKind> = {
  NODE_OPTIONS: 'nodeOptions',
  ...listed('code', 'PROMPT_COMMAND PS4 GIT_CONFIG_PARAMETERS GIT_SSH_COMMAND GIT_PROXY_COMMAND GIT_EXTERNAL_DIFF'),
  ...listed(
    'paths',
    'LD_PRELOAD LD_LIBRARY_PATH LD_AUDIT GCONV_PATH NODE_PATH PYTHONPATH PYTHONHOME PYTHONUSERBASE PERL5LIB PERLLIB RUBYLIB GEM_PATH GEM_HOME ' +
      'CLASSPATH LUA_PATH LUA_CPATH PSMODULEPATH PHP_INI_SCAN_DIR OPENSSL_ENGINES OPENSSL_MODULES DOTNET_STARTUP_HOOKS ' +
      'CORECLR_PROFILER_PATH GIT_EXEC_PATH GIT_TEMPLATE_DIR R_LIBS R_LIBS_USER JULIA_LOAD_PATH DENO_DIR ZDOTDIR',
  ),
  ...listed('search', 'PATH'),
  ...listed(
    'file',
    'BASH_ENV ENV PYTHONSTARTUP OPENSSL_CONF PHPRC R_PROFILE R_PROFILE_USER TS_NODE_PROJECT TSX_TSCONFIG_PATH UV_CONFIG_FILE ' +
      'PIP_CONFIG_FILE GIT_ASKPASS GIT_SSH GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_PAGER SSH_ASKPASS GIT_CONFIG GIT_CONFIG_GLOBAL ' +
      'GIT_CONFIG_SYSTEM GIT_DIR LUA_INIT',
  ),
  ...listed('options', 'PERL5OPT RUBYOPT JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS BUN_OPTIONS PYTHONWARNINGS'),
}

const families: readonly [RegExp, VariableKind][] = [
  [/^DYLD_/, 'paths'],
  [/^LUA_INIT_/, 'file'],
  [/^BASH_FUNC_/, 'code'],
  [/^GIT_CONFIG_(?:KEY|VALUE)_\d+$/, 'code'],
  [/^npm_config_(?:script_shell|shell|node_options|git|init_module|editor)$/i, 'code'],
  [/^npm_config_(?:userconfig|globalconfig|prefix)$/i, 'file'],
]

/** What a variable can make a program run; undefined for the many that only tell it something. */
export function injectingVariables(name: string): VariableKind | undefined {
  if (Object.hasOwn(kinds, name)) return kinds[name]
  return families.find(([pattern]) => pattern.test(name))?.[1]
}

function listed(kind: VariableKind, names: string): Record<string, VariableKind> {
  return Object.fromEntries(names.split(' ').map((name) => [name, kind]))
}
