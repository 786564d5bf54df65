import { describe, expect, it } from '@jest/globals';
import { settingsText } from './settings-text.ts';

const into = (before: string | null, values: object): unknown =>
  JSON.parse(settingsText(before, values));

describe('settings of a CLI', () => {
  it('keeps what else is in the file, at every depth', () => {
    const before = '{"theme":"light","projects":{"/a":{"trusted":false,"history":[1]}}}';
    const values = { theme: 'dark', projects: { '/a': { trusted: true }, '/b': {} } };
    expect(into(before, values)).toEqual({
      theme: 'dark',
      projects: { '/a': { trusted: true, history: [1] }, '/b': {} },
    });
  });

  it('makes a file that is not there, or is no settings, anew', () => {
    for (const before of [null, '', 'not json', '[1]', '"text"'])
      expect(into(before, { a: 1 })).toEqual({ a: 1 });
  });

  it('a name of an object itself is a name like others', () => {
    const values = JSON.parse('{"__proto__":{"polluted":true}}') as object;
    settingsText('{}', values);
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });
});
