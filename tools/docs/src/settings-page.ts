import { describeSettings, type SettingDescription } from '../../../libs/service-kit/src/config.ts';

const INTRODUCTION = `# Settings

Made by \`node tools/gen-settings.ts\` from \`libs/service-kit/src/settings.ts\`; change it there.

Every setting is an environment variable, read once when a process starts. A value that is not
allowed, and a name with \`HANGAR_\` in front that is not in this table, stops the start with a message
that says what is allowed.
`;

const cell = (text: string): string => text.replaceAll('|', '\\|');

function row(setting: SettingDescription): string {
  const { name, allowed, unit, secret, does } = setting;
  const fallback = setting.default === null ? 'not set' : `\`${setting.default}\``;
  const marks = [unit, secret ? 'secret' : null].filter((mark) => mark !== null).join(', ');
  return `| \`${name}\` | ${fallback} | ${marks} | ${cell(does)} | ${cell(allowed)} |`;
}

export function settingsPage(): string {
  return [
    INTRODUCTION,
    '| Setting | Default | | What it does | Allowed |',
    '| --- | --- | --- | --- | --- |',
    ...describeSettings().map(row),
    '',
  ].join('\n');
}
