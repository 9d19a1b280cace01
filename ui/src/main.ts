import './connection/no-eval';
import { mount } from 'svelte';
import App from './App.svelte';
import './theme/tokens.css';
import './theme/base.css';

const target = document.getElementById('app');
if (target === null) throw new Error('index.html has no #app');

export default mount(App, { target });
