/** Notifications of the browser, which are off until the person allows them. */
import { readStored, removeStored, writeStored } from '$lib/browser-storage';
import type { News } from './attention';
import { text } from './text';

const KEY = 'bathysphere.notifications';

export type Permission = NotificationPermission | 'unsupported';

class Notifier {
  #isWanted = $state(readStored(KEY) === 'on');
  #permission = $state<Permission>(permission());

  get permission(): Permission {
    return this.#permission;
  }

  get isOn(): boolean {
    return this.#isWanted && this.#permission === 'granted';
  }

  /** Ask the browser, if it must be asked. */
  async turnOn(): Promise<void> {
    if (permission() === 'default') await Notification.requestPermission();
    this.#permission = permission();
    this.#isWanted = this.#permission === 'granted';
    if (this.#isWanted) writeStored(KEY, 'on');
  }

  turnOff(): void {
    this.#isWanted = false;
    removeStored(KEY);
  }

  /** Show a notification without contents; a click on it opens the conversation. */
  async show(id: string, news: News, open: () => void): Promise<void> {
    this.#permission = permission();
    if (!this.isOn) return;
    const options = { tag: id, icon: '/icon.svg', data: { path: `/c/${id}` } };
    const worker = await navigator.serviceWorker?.getRegistration();
    if (worker) {
      await worker.showNotification(text.news[news], options); // phones allow no other way
      return;
    }
    const shown = new Notification(text.news[news], options);
    shown.onclick = () => {
      window.focus();
      shown.close();
      open();
    };
  }
}

function permission(): Permission {
  return 'Notification' in window ? Notification.permission : 'unsupported';
}

export const notifier = new Notifier();
