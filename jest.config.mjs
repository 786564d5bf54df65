/** Jest over native ES modules; the level is chosen by HANGAR_TEST_LEVEL: unit, int, e2e or all. */
const level = process.env.HANGAR_TEST_LEVEL ?? 'all';
const match = {
  unit: ['**/src/**/!(*.int|*.e2e).spec.ts', '**/sim/**/*.spec.ts'],
  int: ['**/src/**/*.int.spec.ts'],
  e2e: ['**/e2e/**/*.e2e.spec.ts'],
};
export default {
  roots: ['<rootDir>/libs', '<rootDir>/apps', '<rootDir>/tools'],
  testMatch: level === 'all' ? Object.values(match).flat() : match[level],
  extensionsToTreatAsEsm: ['.ts'],
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      {
        jsc: {
          target: 'es2024',
          parser: { syntax: 'typescript', decorators: true },
          transform: { legacyDecorator: true, decoratorMetadata: true },
          keepClassNames: true,
        },
        module: { type: 'es6' },
        sourceMaps: 'inline',
      },
    ],
  },
  testEnvironmentOptions: {
    customExportConditions: ['@hangar/source', 'node', 'node-addons', 'default'],
  },
  modulePathIgnorePatterns: ['<rootDir>/.*/dist/', '<rootDir>/tmp/', '<rootDir>/.hangar/'],
  watchman: false,
  testTimeout: 30_000,
  workerIdleMemoryLimit: '512MB',
  maxWorkers: 2,
  testSequencer: '<rootDir>/tools/test-sequencer.mjs',
  reporters: ['default', '<rootDir>/tools/plain-reporter.mjs'],
};
