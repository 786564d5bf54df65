import { describe, expect, it } from '@jest/globals';
import { buildSeccompFilter } from './seccomp-filter.ts';

const ALLOW = 0x7fff0000;
const EPERM = 0x00050001;
const ENOSYS = 0x00050026;
const KILL = 0x80000000;
const ARCHITECTURES = { x64: 0xc000003e, arm64: 0xc00000b7 };

/** Runs the filter as the kernel would: `struct seccomp_data` in, action out. */
const decide = (
  filter: Buffer,
  call: { architecture: number; number: number; argument0?: number; argument1?: number },
): number => {
  const data = Buffer.alloc(64);
  data.writeUInt32LE(call.number, 0);
  data.writeUInt32LE(call.architecture, 4);
  data.writeUInt32LE(call.argument0 ?? 0, 16);
  data.writeUInt32LE(call.argument1 ?? 0, 24);
  let accumulator = 0;
  for (let index = 0; index * 8 < filter.length; index++) {
    const code = filter.readUInt16LE(index * 8);
    const operand = filter.readUInt32LE(index * 8 + 4);
    if (code === 0x06) return operand;
    if (code === 0x20) {
      accumulator = data.readUInt32LE(operand);
      continue;
    }
    const isTrue =
      (code === 0x15 && accumulator === operand) ||
      (code === 0x35 && accumulator >= operand) ||
      (code === 0x45 && (accumulator & operand) !== 0);
    index += filter[index * 8 + (isTrue ? 2 : 3)]!;
  }
  throw new Error('the filter came to no decision');
};

/** [name, x64, arm64] from the kernel's tables. */
const DENIED: [string, number, number][] = [
  ['mount', 165, 40],
  ['unshare', 272, 97],
  ['setns', 308, 268],
  ['bpf', 321, 280],
  ['keyctl', 250, 219],
  ['io_uring_setup', 425, 425],
  ['open_by_handle_at', 304, 265],
  ['clock_settime', 227, 112],
];
const ALLOWED: [string, number, number][] = [
  ['read', 0, 63],
  ['openat', 257, 56],
  ['execve', 59, 221],
  ['ptrace', 101, 117],
  ['clock_gettime', 228, 113],
];

describe.each(['x64', 'arm64'] as const)('seccomp filter for %s', (name) => {
  const filter = buildSeccompFilter(name)!;
  const architecture = ARCHITECTURES[name];
  const pick = (x64: number, arm64: number): number => (name === 'x64' ? x64 : arm64);

  it.each(DENIED)('denies %s', (_name, x64, arm64) => {
    expect(decide(filter, { architecture, number: pick(x64, arm64) })).toBe(EPERM);
  });

  it.each(ALLOWED)('allows %s', (_name, x64, arm64) => {
    expect(decide(filter, { architecture, number: pick(x64, arm64) })).toBe(ALLOW);
  });

  it('looks at the flags of clone and hides clone3', () => {
    const clone = { architecture, number: pick(56, 220) };
    expect(decide(filter, { ...clone, argument0: 0x003d0f00 })).toBe(ALLOW);
    for (const flag of [0x10000000, 0x20000000, 0x40000000, 0x00020000, 0x02000000]) {
      expect(decide(filter, { ...clone, argument0: flag })).toBe(EPERM);
    }
    expect(decide(filter, { architecture, number: 435 })).toBe(ENOSYS);
  });

  it('denies typing into a terminal, and sockets that reach the host', () => {
    const ioctl = { architecture, number: pick(16, 29) };
    expect(decide(filter, { ...ioctl, argument1: 0x5412 })).toBe(EPERM);
    expect(decide(filter, { ...ioctl, argument1: 0x541c })).toBe(EPERM);
    expect(decide(filter, { ...ioctl, argument1: 0x5413 })).toBe(ALLOW);
    const socket = { architecture, number: pick(41, 198) };
    for (const family of [40, 38, 17]) {
      expect(decide(filter, { ...socket, argument0: family })).toBe(EPERM);
    }
    for (const family of [1, 2, 10, 16]) {
      expect(decide(filter, { ...socket, argument0: family })).toBe(ALLOW);
    }
  });

  it('ends a program of another architecture', () => {
    expect(decide(filter, { architecture: 0x40000003, number: 1 })).toBe(KILL);
  });
});

describe('seccomp filter', () => {
  it('refuses the x32 numbers of x86-64, and has none for other machines', () => {
    const filter = buildSeccompFilter('x64')!;
    const call = { architecture: ARCHITECTURES.x64, number: 0x40000000 + 165 };
    expect(decide(filter, call)).toBe(EPERM);
    expect(buildSeccompFilter('riscv64')).toBeNull();
  });
});
