// The recorder in its page: what the page does to events and timers is the page's own affair.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { CaptureLab } from '../harness/capture.mjs';

let lab;
before(async () => {
  lab = await CaptureLab.start();
});
after(() => lab.stop());

test('an event of the page that looks as if it went ends nothing', async () => {
  const page = await lab.recorded();
  await page.run(`
    const s = window.s = ws('/ws/echo');
    await event(s, 'open');
    dispatchEvent(new Event('pagehide'));
    dispatchEvent(new PageTransitionEvent('pagehide'));
    s.send('x');
    s.close(4001);
    await event(s, 'close');
  `);
  const [connection] = await page.records();
  assert.deepEqual(
    [connection.state, connection.metadata.how, connection.closeCode, connection.messages.length > 0],
    ['closed', 'close', 4001, true],
  );
  await page.close();
});

test('a page that ends all timers silences neither the channel nor whoever waits', async () => {
  const page = await lab.recorded();
  const told = await page.ask(`
    const endAll = () => { let id = setTimeout(() => {}); while (id--) clearTimeout(id); };
    let told = 0, batches = 0;
    rec.engine.subscribe(() => told++);
    rec.connect(() => { batches++; });
    const s = ws('/ws/echo');
    await event(s, 'open');
    await new Promise((resolve) => { const { port1, port2 } = new MessageChannel(); port1.onmessage = resolve; port2.postMessage(0); });
    const before = { told, batches };
    s.send('a');
    endAll();
    await event(s, 'message');
    endAll();
    await sleep(150);
    return { told: told > before.told, batches: batches > before.batches };
  `);
  assert.deepEqual(told, { told: true, batches: true });
  await page.close();
});
