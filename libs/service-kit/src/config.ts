import { HangarError } from '@hangar/contracts';
import { redactShapes } from './redact.ts';
import { FOREIGN_NAMES, FOREIGN_PREFIX, SETTINGS, type Setting } from './settings.ts';

type Settings = typeof SETTINGS;
type ValueOf<S> =
  S extends Setting<infer T> ? (S['fallback'] extends string ? T : T | null) : never;

/** The settings as values; `null` where a setting without default is not set. */
export type Config = { readonly [Key in keyof Settings]: ValueOf<Settings[Key]> };
export type ConfigKey = keyof Config;

/** Longer values are cut when shown, so that a pasted file does not hide the message. */
const SHOWN_CHARACTERS_MAX = 80;

/**
 * Reads every setting, once, at start. Throws HangarError('invalid') that names each wrong or
 * unknown variable, its value (never that of a secret) and what is allowed ([O4]).
 */
export function readConfig(envVars: Readonly<Record<string, string | undefined>>): Config {
  const problems = unknownNames(envVars);
  const written: Record<string, string> = {};
  const config: Record<string, unknown> = {};
  for (const [key, setting] of Object.entries<Setting>(SETTINGS)) {
    const value = envVars[setting.name] ?? fallbackOf(setting, written);
    if (value === null) {
      config[key] = null;
      continue;
    }
    written[setting.name] = value;
    const read = setting.kind.schema.safeParse(value);
    if (read.success) config[key] = read.data;
    else problems.push(wrongValue(setting, value));
  }
  if ((config['natsUser'] === null) !== (config['natsPassword'] === null)) {
    problems.push('HANGAR_NATS_USER and HANGAR_NATS_PASSWORD go together: set both, or neither.');
  }
  if (problems.length > 0) {
    throw new HangarError('invalid', problems.join('\n'), {
      hint: 'Correct the environment variables above and start again; `hangar doctor` lists them.',
    });
  }
  return config as unknown as Config;
}

/** A setting that this service cannot do without. Throws HangarError('invalid') where it is not set. */
export function required<Key extends ConfigKey>(
  config: Config,
  key: Key,
  service: string,
): NonNullable<Config[Key]> {
  const value = config[key];
  if (value !== null && value !== undefined) return value;
  const setting: Setting = SETTINGS[key];
  throw new HangarError('invalid', `${setting.name} is not set, and ${service} needs it.`, {
    hint: `${setting.does} Allowed: ${setting.kind.allowed}.`,
  });
}

/** What a service needs to connect to the log and the bus. Throws HangarError('invalid') as `required` does. */
export function logAddress(config: Config, service: string) {
  return {
    service,
    databaseUrl: required(config, 'databaseUrl', service),
    natsUrl: required(config, 'natsUrl', service).join(','),
    natsUser: config.natsUser ?? undefined,
    natsPassword: config.natsPassword ?? undefined,
  };
}

export interface SettingDescription {
  name: string;
  type: string;
  default: string | null;
  unit: string | null;
  allowed: string;
  secret: boolean;
  does: string;
}

/** The table of settings, for `hangar doctor` and the documents. */
export function describeSettings(): SettingDescription[] {
  return Object.values<Setting>(SETTINGS).map(({ name, kind, fallback, unit, secret, does }) => ({
    name,
    type: kind.type,
    default: fallback,
    unit,
    allowed: kind.allowed,
    secret,
    does,
  }));
}

function fallbackOf(setting: Setting, written: Readonly<Record<string, string>>): string | null {
  return (
    setting.fallback?.replace(/\$\{(\w+)\}/g, (_, name: string) => written[name] ?? '') ?? null
  );
}

function wrongValue(setting: Setting, value: string): string {
  const { name, kind, fallback, secret } = setting;
  if (value === '') {
    const otherwise = fallback === null ? 'to go without it' : `to use ${fallback}`;
    return `${name} is set to nothing. Allowed: ${kind.allowed}. Unset it ${otherwise}.`;
  }
  const shown = secret ? `(hidden, ${value.length} characters)` : shownValue(value);
  return `${name} is ${shown}. Allowed: ${kind.allowed}.`;
}

function shownValue(value: string): string {
  const cut = value.length > SHOWN_CHARACTERS_MAX;
  return JSON.stringify(redactShapes(value).slice(0, SHOWN_CHARACTERS_MAX)) + (cut ? ' ...' : '');
}

function unknownNames(envVars: Readonly<Record<string, string | undefined>>): string[] {
  const known = Object.values<Setting>(SETTINGS).map(({ name }) => name as string);
  return Object.keys(envVars)
    .filter((name) => name.startsWith('HANGAR_') && !known.includes(name))
    .filter((name) => !FOREIGN_NAMES.has(name) && !name.startsWith(FOREIGN_PREFIX))
    .sort()
    .map((name) => {
      const nearest = nearestOf(name, known);
      const advice = nearest ? `Did you mean ${nearest}?` : 'Unset it, or look at the settings.';
      return `${name.slice(0, SHOWN_CHARACTERS_MAX)} is not a setting of hangar. ${advice}`;
    });
}

/** A third of the letters wrong is another word, not a slip. */
function nearestOf(name: string, known: string[]): string | null {
  const ranked = known
    .map((candidate) => ({ candidate, edits: editsBetween(name, candidate) }))
    .sort((a, b) => a.edits - b.edits);
  const [best] = ranked;
  return best && best.edits <= (name.length - 'HANGAR_'.length) / 3 ? best.candidate : null;
}

/** Levenshtein distance; names are short, so the plain table will do. */
function editsBetween(a: string, b: string): number {
  let above = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= Math.min(a.length, SHOWN_CHARACTERS_MAX); i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const changed = above[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      row.push(Math.min(changed, above[j]! + 1, row[j - 1]! + 1));
    }
    above = row;
  }
  return above[b.length]!;
}
