// Debian's Chromium for all stories of a run: says where it listens, ends with its input.
import { chromium } from 'playwright-core';

const server = await chromium.launchServer({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-dev-shm-usage', '--force-color-profile=srgb'],
});
console.log(server.wsEndpoint());
const end = () => server.close().finally(() => process.exit(0));
process.stdin.on('end', end).resume();
process.on('SIGTERM', end);
