import { describeSandboxDriver } from '../testing/index.ts';
import { openLocalDriver } from '../testing/local-driver-factory.ts';

describeSandboxDriver('local with bubblewrap', () => openLocalDriver('auto'));
