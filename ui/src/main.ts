import './connection/no-eval';
import { mount } from 'svelte';
import App from './App.svelte';
import { sessionFragment } from './backend/fragment';
import { beginNotifications } from './install/notifications';
import { registerWorker } from './install/install.svelte';
import { hideComposing } from './kit/input';
import './theme/tokens.css';
import './kit/base.css';
import './kit/layout.css';
import './kit/text.css';
import './kit/looks.css';
import './theme/code.css';

const target = document.getElementById('app');
if (target === null) throw new Error('index.html has no #app');

hideComposing(window);
beginNotifications();
registerWorker((sessionId) => (location.hash = sessionFragment(sessionId)));

export default mount(App, { target });
