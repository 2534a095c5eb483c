// Starts the visitor page.

import { mount } from "svelte";
import "../shared/fonts.css";
import "../shared/base.css";
import { takeToken } from "../shared/boot";
import App from "./App.svelte";
import { Session } from "./session.svelte";

const target = document.getElementById("app");
if (target !== null) mount(App, { target, props: { session: new Session(takeToken()) } });
