/** hangar's own tool in the sandbox: it asks the sandboxes service, which knows whose it is [Z3]. */
export const keyCommand = (tools: string, name: string): string =>
  `sh '${tools.replaceAll("'", `'\\''`)}/hangar-credential' secret ${name}`;
