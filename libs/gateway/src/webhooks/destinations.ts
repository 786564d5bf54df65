import { lookup as lookupBySystem, Resolver } from 'node:dns/promises';
import { BlockList, isIP, type LookupFunction } from 'node:net';
import { callbackify } from 'node:util';
import { HangarError } from '@hangar/contracts';

/**
 * No receiver is there, but what trusts whoever reaches it: link-local addresses and the metadata
 * services of clouds. Refused whatever the setting says [X9].
 */
const NEVER = blockList([
  '169.254.0.0/16',
  '168.63.129.16/32',
  '100.100.100.200/32',
  'fe80::/10',
  'fd00:ec2::/32',
  '64:ff9b::a9fe:0/112',
]);

/** Not the public internet, or a way around it; for IPv6 beside everything outside of 2000::/3. */
const PRIVATE = blockList([
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
  // Teredo, documentation and 6to4: the first and the last carry IPv4 addresses.
  '2001::/23',
  '2001:db8::/32',
  '2002::/16',
  '3fff::/20',
]);
const PUBLIC_IPV6 = blockList(['2000::/3']);

const RESOLVE_MS_MAX = 3000;
const RESOLVE_TRIES = 2;

function blockList(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', bits] = network.split('/');
    list.addSubnet(address, Number(bits), isIP(address) === 6 ? 'ipv6' : 'ipv4');
  }
  return list;
}

/** Whether a webhook may be sent to this address. */
export function isAllowed(address: string, allowsPrivate: boolean): boolean {
  const family = isIP(address);
  const kind = family === 6 ? 'ipv6' : 'ipv4';
  if (family === 0 || NEVER.check(address, kind)) return false;
  if (allowsPrivate) return true;
  return !PRIVATE.check(address, kind) && (family === 4 || PUBLIC_IPV6.check(address, kind));
}

export interface DestinationRules {
  /** HANGAR_WEBHOOK_PRIVATE. */
  allowsPrivate: boolean;
  /** Addresses of a name. */
  resolve?(host: string): Promise<string[]>;
}

/** Where webhooks may be sent to. */
export interface Destinations {
  /** Throws `invalid` when the host is an address that is refused; names pass. */
  check(url: URL): void;
  /** For a request: gives addresses that were checked, so it is these that are connected to. */
  lookup: LookupFunction;
}

export function createDestinations(rules: DestinationRules): Destinations {
  const { allowsPrivate } = rules;
  const resolve = rules.resolve ?? (allowsPrivate ? resolveBySystem : resolveByDns);
  const addressesOf = async (host: string): Promise<{ address: string; family: number }[]> => {
    const found = await resolve(host);
    const refused = found.find((address) => !isAllowed(address, allowsPrivate));
    if (refused !== undefined)
      throw refusal(`${host} leads to ${refused}, which is refused.`, refused);
    if (found.length === 0) throw new HangarError('unavailable', `${host} has no address.`);
    return found.map((address) => ({ address, family: isIP(address) }));
  };
  const lookUp = callbackify(addressesOf);
  return {
    check: ({ hostname }) => {
      const host = hostname.replace(/^\[|\]$/g, '');
      if (isIP(host) !== 0 && !isAllowed(host, allowsPrivate)) {
        throw refusal(`Webhooks are not sent to ${host}.`, host);
      }
    },
    lookup: (host, options, callback) => {
      lookUp(host, (error, found) => {
        const [first] = found ?? [];
        if (error || !found) callback(error, []);
        else if (options.all) callback(null, found);
        else callback(null, first?.address ?? '', first?.family);
      });
    },
  };
}

const refusal = (message: string, address: string): HangarError =>
  new HangarError('invalid', message, {
    hint: isAllowed(address, true)
      ? 'Use a public address; who runs the server can allow private ones: HANGAR_WEBHOOK_PRIVATE=true.'
      : 'Use a public address; this one is never allowed.',
  });

/**
 * Asks the name servers. The system's way holds one of few threads for as long as they are silent,
 * and whose name servers these are is up to whoever made the webhook.
 */
async function resolveByDns(host: string): Promise<string[]> {
  const resolver = new Resolver({ timeout: RESOLVE_MS_MAX, tries: RESOLVE_TRIES });
  const answers = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
  return answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
}

/** Private names may be in the system's own files only. */
const resolveBySystem = async (host: string): Promise<string[]> =>
  (await lookupBySystem(host, { all: true })).map(({ address }) => address);
