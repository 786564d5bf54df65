/**
 * A deny list as classic BPF: what a coding agent has no use for and what has been a way out of
 * containers. Denied calls fail with EPERM. Threads, subprocesses, debuggers of own children,
 * Node, Python and the agent CLIs run under it.
 */

/** Numbers from asm/unistd of each architecture. */
const SYSCALLS = {
  x64: {
    clone: 56,
    ioctl: 16,
    socket: 41,
    denied: {
      mount: 165,
      umount2: 166,
      pivot_root: 155,
      chroot: 161,
      mount_setattr: 442,
      move_mount: 429,
      fsopen: 430,
      fsconfig: 431,
      fsmount: 432,
      fspick: 433,
      open_tree: 428,
      unshare: 272,
      setns: 308,
      keyctl: 250,
      add_key: 248,
      request_key: 249,
      bpf: 321,
      perf_event_open: 298,
      userfaultfd: 323,
      io_uring_setup: 425,
      io_uring_enter: 426,
      io_uring_register: 427,
      kexec_load: 246,
      kexec_file_load: 320,
      init_module: 175,
      finit_module: 313,
      delete_module: 176,
      open_by_handle_at: 304,
      name_to_handle_at: 303,
      process_vm_readv: 310,
      process_vm_writev: 311,
      pidfd_getfd: 438,
      swapon: 167,
      swapoff: 168,
      reboot: 169,
      acct: 163,
      quotactl: 179,
      syslog: 103,
      settimeofday: 164,
      clock_settime: 227,
      adjtimex: 159,
      clock_adjtime: 305,
      iopl: 172,
      ioperm: 173,
      uselib: 134,
      vhangup: 153,
    },
  },
  arm64: {
    clone: 220,
    ioctl: 29,
    socket: 198,
    denied: {
      mount: 40,
      umount2: 39,
      pivot_root: 41,
      chroot: 51,
      mount_setattr: 442,
      move_mount: 429,
      fsopen: 430,
      fsconfig: 431,
      fsmount: 432,
      fspick: 433,
      open_tree: 428,
      unshare: 97,
      setns: 268,
      keyctl: 219,
      add_key: 217,
      request_key: 218,
      bpf: 280,
      perf_event_open: 241,
      userfaultfd: 282,
      io_uring_setup: 425,
      io_uring_enter: 426,
      io_uring_register: 427,
      kexec_load: 104,
      kexec_file_load: 294,
      init_module: 105,
      finit_module: 273,
      delete_module: 106,
      open_by_handle_at: 265,
      name_to_handle_at: 264,
      process_vm_readv: 270,
      process_vm_writev: 271,
      pidfd_getfd: 438,
      swapon: 224,
      swapoff: 225,
      reboot: 142,
      acct: 89,
      quotactl: 60,
      syslog: 116,
      settimeofday: 170,
      clock_settime: 112,
      adjtimex: 171,
      clock_adjtime: 266,
      vhangup: 58,
    },
  },
} as const;

const AUDIT_ARCH = { x64: 0xc000003e, arm64: 0xc00000b7 } as const;
const CLONE3 = 435;
/** CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET. */
const CLONE_NEW_NAMESPACES = 0x7e020000;
const TIOCSTI = 0x5412;
const TIOCLINUX = 0x541c;
const FAMILIES_DENIED = { vsock: 40, alg: 38, packet: 17 };
/** The x32 calling convention of x86-64 has its own numbers above this. */
const X32_BIT = 0x40000000;

/** Offsets in struct seccomp_data; arguments are 64 bits wide and the low word is first. */
const AT = { number: 0, architecture: 4, argument0: 16, argument1: 24 };
const BPF = { load: 0x20, jumpEqual: 0x15, jumpGreaterEqual: 0x35, jumpSet: 0x45, return: 0x06 };
const ACTION = { allow: 0x7fff0000, kill: 0x80000000, eperm: 0x00050001, enosys: 0x00050026 };

type Instruction = [code: number, ifTrue: number, ifFalse: number, operand: number];

const load = (offset: number): Instruction => [BPF.load, 0, 0, offset];
const give = (action: number): Instruction => [BPF.return, 0, 0, action];
const skipUnless = (value: number, count: number): Instruction => [BPF.jumpEqual, 0, count, value];

/** `[load argument, test..., EPERM, reload]` for one call whose argument decides. */
const checkArgument = (
  syscall: number,
  argument: number,
  code: number,
  values: number[],
): Instruction[] => {
  const tests = values.map((value, index): Instruction => {
    const last = index === values.length - 1;
    return [code, values.length - 1 - index, last ? 1 : 0, value];
  });
  return [
    skipUnless(syscall, tests.length + 2),
    load(argument),
    ...tests,
    give(ACTION.eperm),
  ].concat([load(AT.number)]);
};

/** Bytes for `bwrap --seccomp`, or null on an architecture without a table. */
export const buildSeccompFilter = (architecture: string): Buffer | null => {
  if (architecture !== 'x64' && architecture !== 'arm64') return null;
  const table = SYSCALLS[architecture];
  const program: Instruction[] = [
    load(AT.architecture),
    [BPF.jumpEqual, 1, 0, AUDIT_ARCH[architecture]],
    give(ACTION.kill),
    load(AT.number),
  ];
  if (architecture === 'x64') {
    program.push([BPF.jumpGreaterEqual, 0, 1, X32_BIT], give(ACTION.eperm));
  }
  for (const number of Object.values(table.denied)) {
    program.push(skipUnless(number, 1), give(ACTION.eperm));
  }
  // ENOSYS makes the C library fall back to clone, whose flags can be looked at.
  program.push(skipUnless(CLONE3, 1), give(ACTION.enosys));
  program.push(
    ...checkArgument(table.clone, AT.argument0, BPF.jumpSet, [CLONE_NEW_NAMESPACES]),
    ...checkArgument(table.ioctl, AT.argument1, BPF.jumpEqual, [TIOCSTI, TIOCLINUX]),
    ...checkArgument(table.socket, AT.argument0, BPF.jumpEqual, Object.values(FAMILIES_DENIED)),
    give(ACTION.allow),
  );
  return assemble(program);
};

const assemble = (program: Instruction[]): Buffer => {
  const bytes = Buffer.alloc(program.length * 8);
  program.forEach(([code, ifTrue, ifFalse, operand], index) => {
    bytes.writeUInt16LE(code, index * 8);
    bytes[index * 8 + 2] = ifTrue;
    bytes[index * 8 + 3] = ifFalse;
    bytes.writeUInt32LE(operand, index * 8 + 4);
  });
  return bytes;
};
